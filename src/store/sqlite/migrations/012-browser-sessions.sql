-- Sessions of browsers. Of the id in a cookie only its SHA-256 is kept. `token` is the entry_token that it began with; where that
-- is NULL, it began with the admin token, of which `admin` is a mark under the secret of the cluster. A session that was ended has
-- no row. A number never comes back.
CREATE TABLE browser_session (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  hash TEXT NOT NULL UNIQUE,
  token INTEGER,
  admin TEXT,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX browser_session_expires ON browser_session (expires_at);
