-- Schedules that are paused, and what became of their fire times. `held_at` is the fire time that a paused trigger may go on from; its
-- `next_at` is then past every clock, so that programs of any version leave it alone. `fires` is the number of its newest line.
ALTER TABLE trigger_def ADD COLUMN held_at INTEGER;
ALTER TABLE trigger_def ADD COLUMN fires INTEGER NOT NULL DEFAULT 0;
UPDATE trigger_def SET missed = 'latest' WHERE missed = 'one';

-- The newest lines of each trigger. `outcome` is a position in FIRE_OUTCOMES of core/schedule/due.ts; the fire times from `slot` on and
-- before `ends` are skipped.
CREATE TABLE trigger_fire (
  name TEXT NOT NULL,
  n INTEGER NOT NULL,
  slot INTEGER NOT NULL,
  ends INTEGER,
  at INTEGER NOT NULL,
  outcome INTEGER NOT NULL,
  task INTEGER,
  PRIMARY KEY (name, n)
) STRICT, WITHOUT ROWID;
