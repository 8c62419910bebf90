-- What is told of workers. `address` is where the server saw it come from. `worker_total` outlives the processes of a name: how many
-- tasks those that came under it have ended. Events of workers stand in `event`: kinds from 100 on, `ids` are numbers of workers
-- and `born` when these registered; their queue is 0.
ALTER TABLE worker ADD COLUMN address TEXT;
CREATE TABLE worker_total (
  name TEXT PRIMARY KEY,
  ended INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
