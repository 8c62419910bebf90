-- What was granted to the name of a worker, as JSON (core/placement/worker-grant.ts); null: nothing was named.
ALTER TABLE worker_setting ADD COLUMN grants text;

-- What handlers take, by the name of the worker that said so: none of them speaks for the others. `handler_schema` is for older programs.
CREATE TABLE worker_schema (
  worker text COLLATE "C" NOT NULL,
  handler text COLLATE "C" NOT NULL,
  schema text NOT NULL,
  told_at bigint NOT NULL,
  PRIMARY KEY (worker, handler)
);
