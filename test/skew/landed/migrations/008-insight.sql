-- Questions that people ask again, by name: `screen` is the list that they are of, `query` what stands in the address of its page.
-- The name of the table is one that another program in the same file hardly has.
CREATE TABLE saved_view (
  name TEXT PRIMARY KEY,
  screen TEXT NOT NULL,
  query TEXT NOT NULL,
  saved_by TEXT NOT NULL,
  saved_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What handlers take, as JSON Schema: what the worker said that came last with another one.
CREATE TABLE handler_schema (
  handler TEXT PRIMARY KEY,
  schema TEXT NOT NULL,
  told_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
