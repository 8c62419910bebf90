-- Triggers that are no schedules. `revision` is another at each change, and begins with the time; `cursor` is how far one has read what it
-- listens to; `lines` is the number of its newest line.
CREATE TABLE reaction (
  name TEXT PRIMARY KEY,
  kind TEXT NOT NULL,
  body TEXT NOT NULL,
  enabled INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  cursor INTEGER NOT NULL,
  lines INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The newest lines of each. `outcome` is a position in TRIGGER_OUTCOMES of core/trigger/trigger.ts.
CREATE TABLE reaction_line (
  name TEXT NOT NULL,
  n INTEGER NOT NULL,
  at INTEGER NOT NULL,
  outcome INTEGER NOT NULL,
  task INTEGER,
  about TEXT NOT NULL,
  detail TEXT,
  PRIMARY KEY (name, n)
) STRICT, WITHOUT ROWID;

-- What was delivered, until it may be forgotten. `links` says how many triggers led to the task.
CREATE TABLE reaction_key (
  name TEXT NOT NULL,
  key TEXT NOT NULL,
  version TEXT NOT NULL,
  until INTEGER NOT NULL,
  n INTEGER NOT NULL,
  task INTEGER,
  born INTEGER,
  links INTEGER,
  PRIMARY KEY (name, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX reaction_key_until ON reaction_key (name, until);
CREATE INDEX reaction_key_task ON reaction_key (task) WHERE task IS NOT NULL;

-- Workers that were marked as lost. A program before this one marks them without a row.
CREATE TABLE worker_loss (
  n INTEGER PRIMARY KEY AUTOINCREMENT,
  worker INTEGER NOT NULL,
  name TEXT NOT NULL,
  host TEXT,
  at INTEGER NOT NULL
) STRICT;
