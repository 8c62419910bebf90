-- Questions that people ask again, by name: `screen` is the list that they are of, `query` what stands in the address of its page.
CREATE TABLE saved_view (
  name text COLLATE "C" PRIMARY KEY,
  screen text NOT NULL,
  query text NOT NULL,
  saved_by text NOT NULL,
  saved_at bigint NOT NULL
);

-- What handlers take, as JSON Schema: what the worker said that came last with another one.
CREATE TABLE handler_schema (
  handler text COLLATE "C" PRIMARY KEY,
  schema text NOT NULL,
  told_at bigint NOT NULL
);
