-- Files that tasks leave behind. Their bytes lie elsewhere, under `blob`. `state`: 0 begun, 1 whole, 2 removed, 3 given up; the last two wait for
-- their bytes to be deleted. `own`: nobody but their maker has checked the bytes, so they are not shared. `kind` is a position in core/artifact.
CREATE TABLE artifact (
  n INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  task INTEGER NOT NULL,
  root INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  state INTEGER NOT NULL,
  name TEXT NOT NULL,
  type TEXT NOT NULL,
  kind INTEGER NOT NULL,
  size INTEGER NOT NULL,
  sha256 TEXT NOT NULL,
  own INTEGER NOT NULL,
  blob TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX artifact_name ON artifact (task, name) WHERE state = 1;
CREATE INDEX artifact_root ON artifact (root, n) WHERE state < 2;
CREATE INDEX artifact_begun ON artifact (task, attempt) WHERE state = 0;
CREATE INDEX artifact_gone ON artifact (state, n) WHERE state > 1;
CREATE INDEX artifact_shared ON artifact (sha256) WHERE state < 2 AND own = 0;
CREATE INDEX artifact_blob ON artifact (blob) WHERE state < 2;

-- The room that live artifacts take: of each task that has any, and of all under 0 and 0.
CREATE TABLE artifact_room (
  root INTEGER NOT NULL,
  task INTEGER NOT NULL,
  entries INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  PRIMARY KEY (root, task)
) STRICT, WITHOUT ROWID;
