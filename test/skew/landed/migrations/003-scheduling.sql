-- Scheduling: where a task may run, what it takes of which limits, what it waits for, what it remembers.

-- `placement` is JSON, absent for anywhere; `limits` is JSON of what a task takes of them, by name; `slots` of the
-- counters that this comes to.
ALTER TABLE lane ADD COLUMN limits TEXT;
-- The worker that served it last, by name; kept only where the placement asks for it.
ALTER TABLE lane ADD COLUMN served_by TEXT;

-- What is said of a worker by its name outlives its process: the next one of that name begins with it.
CREATE TABLE worker_setting (
  name TEXT PRIMARY KEY,
  enabled INTEGER NOT NULL DEFAULT 1,
  priority INTEGER,
  tags TEXT NOT NULL DEFAULT '[]'
) STRICT, WITHOUT ROWID;
ALTER TABLE worker ADD COLUMN priority INTEGER NOT NULL DEFAULT 0;
ALTER TABLE worker ADD COLUMN version TEXT;
ALTER TABLE worker ADD COLUMN queues TEXT;
-- Its own tags and priority; `tags` has those of its name besides, `priority` that of its name if there is one.
ALTER TABLE worker ADD COLUMN own_tags TEXT;
ALTER TABLE worker ADD COLUMN own_priority INTEGER NOT NULL DEFAULT 0;
-- Grows with every change that placement looks at: a claim names the one by which its lanes were chosen.
ALTER TABLE worker ADD COLUMN revision INTEGER NOT NULL DEFAULT 1;

-- `body` is JSON as core/limits/limit.ts spells it; of a limit that was removed it is absent.
CREATE TABLE limit_def (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  body TEXT,
  revision INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  changed_by TEXT NOT NULL
) STRICT;
CREATE TABLE limit_change (
  id INTEGER PRIMARY KEY,
  def INTEGER NOT NULL,
  at INTEGER NOT NULL,
  by TEXT NOT NULL,
  body TEXT
) STRICT;
CREATE INDEX limit_change_def ON limit_change (def, id);

-- A counter of a limit: its total (key '') or one of its keys. `cap` is here and not in the definition, so that a change of it
-- and the claims that go by it follow each other. `tat` and `cost_tat` are µs, `paused_until` ms of lease time.
CREATE TABLE slot (
  id INTEGER PRIMARY KEY,
  def INTEGER NOT NULL,
  key TEXT NOT NULL,
  cap INTEGER,
  active INTEGER NOT NULL DEFAULT 0 CHECK (active >= 0),
  tat INTEGER NOT NULL DEFAULT 0,
  cost_tat INTEGER NOT NULL DEFAULT 0,
  paused_until INTEGER NOT NULL DEFAULT 0,
  UNIQUE (def, key)
) STRICT;
-- Which lanes use a slot: whom to wake when it frees, whom to count.
CREATE TABLE lane_slot (
  lane INTEGER NOT NULL,
  slot INTEGER NOT NULL,
  weight INTEGER NOT NULL,
  PRIMARY KEY (lane, slot)
) STRICT, WITHOUT ROWID;
CREATE INDEX lane_slot_slot ON lane_slot (slot, lane);

-- `down` waits for `up`, as long as `open` is 1 and its attempt is `gen`. Kept until `down` is removed: its results are asked for.
-- `planned`: it was made with `down`, which waits for it again when it is run again; a task that parks makes the others.
-- `parked`: it is waited for in a park, and any end will do.
CREATE TABLE dep (
  up INTEGER NOT NULL,
  down INTEGER NOT NULL,
  gen INTEGER NOT NULL,
  optional INTEGER NOT NULL,
  open INTEGER NOT NULL,
  planned INTEGER NOT NULL DEFAULT 0,
  parked INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (up, down)
) STRICT, WITHOUT ROWID;
CREATE INDEX dep_down ON dep (down);
-- Ended tasks whose dependents were too many for one transaction, and how they ended.
CREATE TABLE dep_carry (
  up INTEGER PRIMARY KEY,
  state INTEGER NOT NULL
) STRICT;

-- The newest wait of a task, the `turn`th of its attempt. State: 0 open, 1 woken, 2 timed out.
CREATE TABLE wait (
  task INTEGER PRIMARY KEY,
  gen INTEGER NOT NULL,
  turn INTEGER NOT NULL DEFAULT 0,
  key TEXT NOT NULL,
  channel TEXT,
  form TEXT,
  since INTEGER NOT NULL,
  deadline INTEGER,
  state INTEGER NOT NULL,
  body TEXT
) STRICT;
CREATE INDEX wait_open ON wait (channel, since, task) WHERE state = 0 AND channel IS NOT NULL;
CREATE INDEX wait_form ON wait (since, task) WHERE state = 0 AND form IS NOT NULL;
-- Signals that nobody has taken yet.
CREATE TABLE signal (
  id INTEGER PRIMARY KEY,
  channel TEXT NOT NULL,
  body TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT;
CREATE INDEX signal_channel ON signal (channel, id);

-- Values above 4 KB lie apart, so that a look at what is there does not read them.
CREATE TABLE checkpoint (
  task INTEGER NOT NULL,
  key TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  value TEXT,
  at INTEGER NOT NULL,
  PRIMARY KEY (task, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE checkpoint_body (
  task INTEGER NOT NULL,
  key TEXT NOT NULL,
  data TEXT NOT NULL,
  PRIMARY KEY (task, key)
) STRICT;

-- Results by logical key, for those that ask for one instead of running; they outlive their tasks. `born` is when the task was
-- made. The key that a caller gave is part 2 of the task's `body`.
CREATE TABLE kept_result (
  key TEXT PRIMARY KEY,
  task INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  born INTEGER NOT NULL,
  value TEXT,
  at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX kept_result_expires ON kept_result (expires_at);
