-- The nodes of a cluster: one row for each id, of the newest process that has it. `wish` is what it was started as, `asked` what is
-- asked of it instead ("auto": nothing), `stand` what it does. Beats are told in lease time, the rest in calendar time.
CREATE TABLE cluster_node (
  id TEXT PRIMARY KEY,
  incarnation TEXT NOT NULL,
  wish TEXT NOT NULL,
  asked TEXT NOT NULL DEFAULT 'auto',
  stand TEXT NOT NULL,
  stand_since INTEGER NOT NULL,
  address TEXT,
  version TEXT,
  host TEXT,
  pid INTEGER,
  started_at INTEGER NOT NULL,
  beat_at INTEGER NOT NULL,
  left_at INTEGER
) STRICT, WITHOUT ROWID;
