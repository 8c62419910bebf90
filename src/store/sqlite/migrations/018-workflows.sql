-- Stored workflows, each with its versions. Their texts are definitions; `used_at` of one that a version names is past every clock, so
-- that pruners of any program leave it alone. `revision` is another at each change, and begins with the time: a name that was freed and
-- taken again does not come back to it.
CREATE TABLE workflow (
  name TEXT PRIMARY KEY,
  version INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  enabled INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- `restored` is the version whose text was made the newest again.
CREATE TABLE workflow_version (
  workflow TEXT NOT NULL,
  version INTEGER NOT NULL,
  definition TEXT NOT NULL,
  at INTEGER NOT NULL,
  author TEXT,
  restored INTEGER,
  PRIMARY KEY (workflow, version)
) STRICT, WITHOUT ROWID;
CREATE INDEX workflow_definition ON workflow_version (definition);

-- The workflow whose trigger it is, and what its tasks are as runs, as JSON. A program before this one pushes the same tasks without
-- runs.
ALTER TABLE trigger_def ADD COLUMN workflow TEXT;
ALTER TABLE trigger_def ADD COLUMN run TEXT;
