-- What workers add to the kernel: logs of tasks, how long a task may wait for its first start, and what a worker is.

-- One row per line. `stream` is a position in STREAMS of core/task/log.ts.
CREATE TABLE log (
  task INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  at INTEGER NOT NULL,
  stream INTEGER NOT NULL,
  data TEXT NOT NULL,
  PRIMARY KEY (task, attempt, seq)
) STRICT, WITHOUT ROWID;

-- Calendar time until which a task may wait for its first start. Most tasks have none, and the index holds only those that
-- have one and were never claimed.
ALTER TABLE task ADD COLUMN expires_at INTEGER;
CREATE INDEX task_expires ON task (expires_at) WHERE expires_at IS NOT NULL AND state IN (0, 2) AND attempt = 0;

-- `status` and `metadata` are the worker's own words; `handlers` and `metadata` are JSON. `started_at` is calendar time,
-- `beat_at` lease time.
ALTER TABLE worker ADD COLUMN host TEXT;
ALTER TABLE worker ADD COLUMN pid INTEGER;
ALTER TABLE worker ADD COLUMN started_at INTEGER;
ALTER TABLE worker ADD COLUMN handlers TEXT;
ALTER TABLE worker ADD COLUMN status TEXT;
ALTER TABLE worker ADD COLUMN metadata TEXT;
-- Those that are expected to beat; not on beat_at, so that a beat moves no entry.
CREATE INDEX worker_live ON worker (id) WHERE state IN (0, 1, 2);

-- Views for people and for the tools of the programs that this one follows, with their columns and their words; they stay
-- at the end of the file. Times are text as of datetime(), in UTC. Beats and leases are told in lease time, which nobody
-- can set; meta holds how far the calendar was ahead of it when the reaper last noted it, within some seconds.

CREATE VIEW work_pool AS
SELECT
  CAST(t.id AS TEXT) AS id,
  CAST(t.id AS TEXT) AS item_id,
  q.name AS pool_name,
  coalesce(t.payload, (SELECT b.data FROM body b WHERE b.task = t.id AND b.part = 0), 'null') AS data,
  CASE t.state
    WHEN 1 THEN 'claimed' WHEN 4 THEN 'done' WHEN 5 THEN 'poisoned' WHEN 6 THEN 'cancelled' ELSE 'pending'
  END AS status,
  w.name AS claimed_by,
  CASE WHEN t.holder IS NOT NULL THEN datetime(t.started_at / 1000, 'unixepoch') END AS claimed_at,
  t.tries AS attempts,
  t.max_tries AS max_retries,
  CASE WHEN t.state = 4 THEN coalesce(t.result, (SELECT b.data FROM body b WHERE b.task = t.id AND b.part = 1)) END AS result,
  CASE
    WHEN t.state IN (5, 6) THEN coalesce(t.result, (SELECT b.data FROM body b WHERE b.task = t.id AND b.part = 1))
    WHEN t.state < 4 THEN (SELECT error FROM attempt WHERE task = t.id ORDER BY attempt DESC LIMIT 1)
  END AS error,
  datetime(t.created_at / 1000, 'unixepoch') AS created_at
FROM task t
JOIN lane l ON l.id = t.lane
JOIN queue q ON q.id = l.queue
LEFT JOIN worker w ON w.id = t.holder;

-- The newest incarnation of each name.
CREATE VIEW worker_registry AS
SELECT
  w.name AS worker_id,
  coalesce(w.status, CASE w.state WHEN 2 THEN 'terminating' WHEN 3 THEN 'terminated' WHEN 4 THEN 'lost' ELSE 'active' END)
    AS status,
  datetime((w.beat_at + coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'calendar_ahead'), 0)) / 1000,
    'unixepoch') AS last_heartbeat,
  w.host AS host,
  w.pid AS pid,
  w.tags AS capabilities,
  NULL AS pool_id,
  datetime(w.started_at / 1000, 'unixepoch') AS started_at,
  (SELECT CAST(min(id) AS TEXT) FROM task WHERE state = 1 AND holder = w.id) AS current_task_id,
  w.metadata AS metadata
FROM worker w
WHERE w.id = (SELECT max(id) FROM worker WHERE name = w.name);

-- The tasks of the queue "runs".
CREATE VIEW runs AS
SELECT
  coalesce((SELECT key FROM uniq WHERE task = t.id), CAST(t.id AS TEXT)) AS run_id,
  datetime(t.created_at / 1000, 'unixepoch') AS created_at,
  datetime(coalesce(t.ended_at, t.cancel_at, t.started_at, t.created_at) / 1000, 'unixepoch') AS updated_at,
  CASE t.state
    WHEN 1 THEN CASE WHEN t.cancel_at IS NULL THEN 'running' ELSE 'cancel_requested' END
    WHEN 4 THEN 'completed' WHEN 5 THEN 'failed' WHEN 6 THEN 'cancelled' ELSE 'queued'
  END AS status,
  t.handler AS entrypoint,
  t.spec_json AS run_spec_json,
  CASE WHEN json_valid(t.spec_json) THEN json_extract(t.spec_json, '$.workspace_dir') END AS workspace_dir,
  CASE WHEN json_valid(t.spec_json) THEN json_extract(t.spec_json, '$.run_mode') END AS run_mode,
  CASE WHEN json_valid(t.spec_json) THEN json_extract(t.spec_json, '$.job_path') END AS job_path,
  CASE WHEN json_valid(t.spec_json) THEN json_extract(t.spec_json, '$.prompt') END AS last_job_prompt,
  CASE WHEN json_valid(t.spec_json) THEN json_extract(t.spec_json, '$.max_iterations') END AS max_iterations,
  CASE WHEN t.state = 1 THEN w.name END AS lease_owner,
  datetime((t.lease_until + t.ahead) / 1000, 'unixepoch') AS lease_expires_at,
  CASE WHEN t.state = 1 THEN datetime((w.beat_at + t.ahead) / 1000, 'unixepoch') END AS last_heartbeat_at,
  datetime(t.cancel_at / 1000, 'unixepoch') AS cancel_requested_at,
  t.tries AS attempts,
  t.max_tries AS max_attempts,
  CASE WHEN t.state = 4 THEN t.outcome END AS result,
  CASE WHEN t.state IN (5, 6) THEN t.outcome END AS error
FROM (
  SELECT
    task.*,
    lane.handler AS handler,
    coalesce(task.payload, (SELECT b.data FROM body b WHERE b.task = task.id AND b.part = 0), 'null') AS spec_json,
    coalesce(task.result, (SELECT b.data FROM body b WHERE b.task = task.id AND b.part = 1)) AS outcome,
    coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'calendar_ahead'), 0) AS ahead
  FROM task
  JOIN lane ON lane.id = task.lane
  JOIN queue ON queue.id = lane.queue AND queue.name = 'runs'
) t
LEFT JOIN worker w ON w.id = t.holder;
