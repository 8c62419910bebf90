-- Who may come in over the network. Of a token only its SHA-256 is kept. `name` is a label; of a secret and a code it is the name
-- of the worker. A number never comes back: whoever remembers one does not take another token for it. The name of the table
-- is one that another program in the same file hardly has.
CREATE TABLE entry_token (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL,
  role TEXT NOT NULL,
  name TEXT NOT NULL,
  hash TEXT NOT NULL UNIQUE,
  prefix TEXT NOT NULL,
  made_by TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  used_at INTEGER,
  revoked_at INTEGER
) STRICT;
CREATE INDEX entry_token_name ON entry_token (name);
-- Since when it is no longer live, for the pruner; a token is used or revoked at most once, and not after it has expired.
CREATE INDEX entry_token_ended ON entry_token (coalesce(revoked_at, used_at, expires_at));
