-- What all tasks of a tree may use together, by unit (a position in UNITS, core/limits/budget.ts). `taken` is the sum of `granted` of its
-- allowances. `told`: 1 tasks wait for more of it, 2 its soft bound was told of.
CREATE TABLE budget (
  root bigint NOT NULL,
  unit smallint NOT NULL,
  soft bigint,
  hard bigint,
  taken bigint NOT NULL DEFAULT 0,
  told smallint NOT NULL DEFAULT 0,
  PRIMARY KEY (root, unit)
) WITH (fillfactor = 50);

-- What one task has of it. `reserved` was drawn for calls under way.
CREATE TABLE allowance (
  task bigint NOT NULL,
  unit smallint NOT NULL,
  root bigint NOT NULL,
  granted bigint NOT NULL,
  spent bigint NOT NULL,
  reserved bigint NOT NULL,
  PRIMARY KEY (task, unit)
) WITH (fillfactor = 70);
CREATE INDEX allowance_root ON allowance (root, unit);
