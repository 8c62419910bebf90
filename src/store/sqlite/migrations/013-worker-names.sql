-- Who has the name of a joined worker: its `holder` (core/placement/name-hold.ts), its row by incarnation, and the process that it
-- is connected to, with the id of that process as a node where it is one.
CREATE TABLE worker_name (
  name TEXT PRIMARY KEY,
  holder TEXT NOT NULL,
  incarnation TEXT NOT NULL,
  process TEXT NOT NULL,
  node TEXT
) STRICT, WITHOUT ROWID;
