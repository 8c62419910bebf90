-- Tags that were made by name, whether or not a worker carries them.
CREATE TABLE tag (
  name TEXT PRIMARY KEY,
  at INTEGER NOT NULL,
  author TEXT NOT NULL
) STRICT, WITHOUT ROWID;
