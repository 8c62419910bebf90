-- Stored workflows, each with its versions. Their texts are definitions; `used_at` of one that a version names is past every clock, so
-- that pruners of any program leave it alone. `revision` is another at each change, and begins with the time: a name that was freed and
-- taken again does not come back to it.
CREATE TABLE workflow (
  name text COLLATE "C" PRIMARY KEY,
  version bigint NOT NULL,
  revision bigint NOT NULL,
  enabled smallint NOT NULL,
  created_at bigint NOT NULL,
  changed_at bigint NOT NULL
);

-- `restored` is the version whose text was made the newest again.
CREATE TABLE workflow_version (
  workflow text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  definition text COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  author text,
  restored bigint,
  PRIMARY KEY (workflow, version)
);
CREATE INDEX workflow_definition ON workflow_version (definition);

-- The workflow whose trigger it is, and what its tasks are as runs, as JSON. A program before this one pushes the same tasks without
-- runs.
ALTER TABLE trigger_def ADD COLUMN workflow text;
ALTER TABLE trigger_def ADD COLUMN run text;
