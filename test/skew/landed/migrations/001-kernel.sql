-- The kernel: tasks, lanes, leases, duties, events. Times are integer milliseconds; JSON is text that nobody looks into.

CREATE TABLE queue (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  paused INTEGER NOT NULL DEFAULT 0,
  options TEXT
) STRICT;

CREATE TABLE lane (
  id INTEGER PRIMARY KEY,
  queue INTEGER NOT NULL,
  handler TEXT NOT NULL,
  hash TEXT NOT NULL UNIQUE,
  placement TEXT,
  slots TEXT NOT NULL DEFAULT '[]',
  fair_key TEXT,
  weight INTEGER NOT NULL DEFAULT 1,
  used_at INTEGER NOT NULL
) STRICT;

CREATE TABLE spec (
  id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  body TEXT NOT NULL,
  used_at INTEGER NOT NULL
) STRICT;

-- No AUTOINCREMENT, which writes one more page per commit: the pruner never takes the newest row, so an id, and with it
-- an (id, attempt), never comes back.
CREATE TABLE task (
  id INTEGER PRIMARY KEY,
  lane INTEGER NOT NULL,
  spec INTEGER NOT NULL,
  state INTEGER NOT NULL,
  prio INTEGER NOT NULL,
  attempt INTEGER NOT NULL DEFAULT 0,
  tries INTEGER NOT NULL DEFAULT 0,
  max_tries INTEGER NOT NULL,
  bounces INTEGER NOT NULL DEFAULT 0,
  flags INTEGER NOT NULL DEFAULT 0,
  open INTEGER NOT NULL DEFAULT 0,
  holder INTEGER,
  created_at INTEGER NOT NULL,
  started_at INTEGER,
  run_at INTEGER,
  lease_until INTEGER,
  cancel_at INTEGER,
  payload TEXT,
  ended_at INTEGER,
  reason INTEGER NOT NULL DEFAULT 0,
  result TEXT
) STRICT;

-- Claim order, over claimable rows only: what is done costs a claim nothing.
CREATE INDEX task_ready ON task (lane, prio, id) WHERE state = 0;
-- Never larger than the slots of the fleet, so the reaper reads it whole; not on lease_until, so a renewal moves no entry.
CREATE INDEX task_running ON task (holder) WHERE state = 1;
CREATE INDEX task_due ON task (run_at) WHERE state IN (2, 3);
CREATE INDEX task_failed ON task (id) WHERE state = 5;

-- One row per attempt that did not end its task; the last attempt is the task's own row.
CREATE TABLE attempt (
  task INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  holder INTEGER,
  started_at INTEGER,
  ended_at INTEGER NOT NULL,
  outcome INTEGER NOT NULL,
  error TEXT,
  PRIMARY KEY (task, attempt)
) STRICT, WITHOUT ROWID;

-- What is too large for the row: part 0 the payload, part 1 the result.
CREATE TABLE body (
  task INTEGER NOT NULL,
  part INTEGER NOT NULL,
  data TEXT NOT NULL,
  PRIMARY KEY (task, part)
) STRICT;

CREATE TABLE uniq (
  queue INTEGER NOT NULL,
  key TEXT NOT NULL,
  task INTEGER NOT NULL,
  hash INTEGER NOT NULL,
  until INTEGER NOT NULL,
  PRIMARY KEY (queue, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX uniq_task ON uniq (task);

CREATE TABLE op (
  id TEXT PRIMARY KEY,
  answer TEXT NOT NULL,
  until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX op_until ON op (until);

CREATE TABLE worker (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL,
  incarnation TEXT NOT NULL UNIQUE,
  state INTEGER NOT NULL DEFAULT 1,
  enabled INTEGER NOT NULL DEFAULT 1,
  slots INTEGER NOT NULL,
  tags TEXT NOT NULL DEFAULT '[]',
  beat_at INTEGER NOT NULL
) STRICT;

CREATE TABLE duty (
  name TEXT PRIMARY KEY,
  holder TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  until INTEGER NOT NULL,
  cursor INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

-- Packed: one row per transaction, queue, change and new state. The reader expands it: number = seq + position. Attempts
-- and births that are all the same are written once.
CREATE TABLE event (
  seq INTEGER PRIMARY KEY,
  n INTEGER NOT NULL,
  at INTEGER NOT NULL,
  queue INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  state INTEGER NOT NULL,
  ids TEXT NOT NULL,
  attempts TEXT NOT NULL,
  born TEXT NOT NULL,
  body TEXT
) STRICT;
-- The next number is read from the newest row, so one row is always there; this one belongs to no queue.
INSERT INTO event (seq, n, at, queue, kind, state, ids, attempts, born) VALUES (0, 1, 0, 0, 0, 0, '[]', '[]', '[]');

CREATE TABLE qstat (
  queue INTEGER PRIMARY KEY,
  ready INTEGER NOT NULL DEFAULT 0,
  running INTEGER NOT NULL DEFAULT 0,
  scheduled INTEGER NOT NULL DEFAULT 0,
  waiting INTEGER NOT NULL DEFAULT 0,
  completed INTEGER NOT NULL DEFAULT 0,
  failed INTEGER NOT NULL DEFAULT 0,
  cancelled INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE trigger_def (
  name TEXT PRIMARY KEY,
  lane INTEGER NOT NULL,
  spec INTEGER NOT NULL,
  cron TEXT NOT NULL,
  timezone TEXT NOT NULL,
  missed TEXT NOT NULL,
  prio INTEGER NOT NULL,
  max_tries INTEGER NOT NULL,
  payload TEXT NOT NULL,
  next_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX trigger_next ON trigger_def (next_at);
