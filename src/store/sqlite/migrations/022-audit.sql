-- Who did what: one row for each administrative action. `role` is 'none' of a stranger; `said` is who the caller said it was. `face` and
-- `outcome` are positions in the lists of core/audit/entry.ts; 0 is an outcome that is not known. `was` and `became` are JSON of what may
-- be shown of the target.
CREATE TABLE audit_entry (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  at INTEGER NOT NULL,
  ended_at INTEGER,
  actor TEXT NOT NULL,
  role TEXT NOT NULL,
  token INTEGER,
  said TEXT,
  action TEXT NOT NULL,
  target TEXT NOT NULL,
  face INTEGER NOT NULL,
  address TEXT,
  request TEXT,
  outcome INTEGER NOT NULL,
  status INTEGER,
  code TEXT,
  was TEXT,
  became TEXT,
  times INTEGER NOT NULL
) STRICT;
CREATE INDEX audit_entry_at ON audit_entry (at);
CREATE INDEX audit_entry_actor ON audit_entry (actor, id);
CREATE INDEX audit_entry_action ON audit_entry (action, id);
CREATE INDEX audit_entry_target ON audit_entry (target, id);
CREATE INDEX audit_entry_stranger ON audit_entry (id) WHERE role = 'none' AND outcome = 2;
