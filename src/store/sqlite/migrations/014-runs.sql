-- Texts that runs are made from, by their hash. Short columns come first: a new `used_at` writes one page of a long row.
CREATE TABLE definition (
  id INTEGER PRIMARY KEY,
  used_at INTEGER NOT NULL,
  hash TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  body TEXT NOT NULL
) STRICT;
CREATE INDEX definition_used ON definition (used_at);

-- What a caller called the root task of a tree. It has no state: the task's own row has it. `cancel_…` says who asked for its end,
-- until it is revived. Programs before this one leave the row behind when they prune the task; its name is free all the same.
CREATE TABLE run (
  task INTEGER PRIMARY KEY,
  name TEXT UNIQUE,
  kind TEXT NOT NULL,
  title TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  definition TEXT,
  forked_from INTEGER,
  created_at INTEGER NOT NULL,
  cancel_at INTEGER,
  cancel_why TEXT,
  cancel_by TEXT,
  labels TEXT
) STRICT;
CREATE INDEX run_definition ON run (definition) WHERE definition IS NOT NULL;
