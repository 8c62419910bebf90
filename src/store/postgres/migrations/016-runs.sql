-- Texts that runs are made from, by their hash.
CREATE TABLE definition (
  hash text COLLATE "C" PRIMARY KEY,
  kind text COLLATE "C" NOT NULL,
  used_at bigint NOT NULL,
  body text NOT NULL
);
CREATE INDEX definition_used ON definition (used_at);

-- What a caller called the root task of a tree. It has no state: the task's own row has it. `cancel_…` says who asked for its end,
-- until it is revived. Programs before this one leave the row behind when they prune the task; its name is free all the same.
CREATE TABLE run (
  task bigint PRIMARY KEY,
  name text COLLATE "C" UNIQUE,
  kind text COLLATE "C" NOT NULL,
  title text COLLATE "C" NOT NULL,
  fingerprint text COLLATE "C" NOT NULL,
  definition text COLLATE "C",
  forked_from bigint,
  created_at bigint NOT NULL,
  cancel_at bigint,
  cancel_why text,
  cancel_by text,
  labels text
);
CREATE INDEX run_definition ON run (definition) WHERE definition IS NOT NULL;
