-- Pools of workers: what they are and when they last changed their size. `body` is a pool as JSON; `up_at` and `down_at` are in lease time.
CREATE TABLE pools (
  name TEXT PRIMARY KEY,
  body TEXT NOT NULL,
  revision INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  changed_by TEXT NOT NULL,
  up_at INTEGER,
  down_at INTEGER
) STRICT, WITHOUT ROWID;

-- The right of one worker to register, once. States: 0 open, 1 used, 2 failed, 3 expired. `at` is calendar time, the others are lease time.
-- `idle_since` and `ended` are what the last check has seen of its worker: since when it has had no task, and how many it has ended.
CREATE TABLE pool_tickets (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  pool TEXT NOT NULL,
  hash TEXT NOT NULL,
  state INTEGER NOT NULL,
  at INTEGER NOT NULL,
  made_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  ended_at INTEGER,
  started TEXT,
  error TEXT,
  worker INTEGER,
  idle_since INTEGER,
  ended INTEGER
) STRICT;
CREATE INDEX pool_ticket_pool ON pool_tickets (pool, n);
CREATE INDEX pool_ticket_open ON pool_tickets (pool) WHERE state = 0;

-- The newest decisions of each pool. `course` is the part that makes one another decision than the last; `launched` and `drained` are how
-- many it came to.
CREATE TABLE pool_decisions (
  pool TEXT NOT NULL,
  n INTEGER NOT NULL,
  at INTEGER NOT NULL,
  course TEXT NOT NULL,
  body TEXT NOT NULL,
  launched INTEGER NOT NULL,
  drained INTEGER NOT NULL,
  PRIMARY KEY (pool, n)
) STRICT, WITHOUT ROWID;

-- The ticket that brought a worker, and since when it is sent home: it takes no task any more.
ALTER TABLE worker ADD COLUMN ticket TEXT;
ALTER TABLE worker ADD COLUMN leaving_at INTEGER;
