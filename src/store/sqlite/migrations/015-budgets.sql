-- What all tasks of a tree may use together, by unit (a position in UNITS, core/limits/budget.ts). `taken` is the sum of `granted` of its
-- allowances. `told`: 1 tasks wait for more of it, 2 its soft bound was told of.
CREATE TABLE budget (
  root INTEGER NOT NULL,
  unit INTEGER NOT NULL,
  soft INTEGER,
  hard INTEGER,
  taken INTEGER NOT NULL DEFAULT 0,
  told INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (root, unit)
) STRICT, WITHOUT ROWID;

-- What one task has of it. `reserved` was drawn for calls under way.
CREATE TABLE allowance (
  task INTEGER NOT NULL,
  unit INTEGER NOT NULL,
  root INTEGER NOT NULL,
  granted INTEGER NOT NULL,
  spent INTEGER NOT NULL,
  reserved INTEGER NOT NULL,
  PRIMARY KEY (task, unit)
) STRICT, WITHOUT ROWID;
CREATE INDEX allowance_root ON allowance (root, unit);
