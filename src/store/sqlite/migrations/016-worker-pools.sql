-- What a worker says when it registers: the pool that it belongs to, how often it beats, and how long it may be silent before it is
-- lost. Without the last one the reaper decides, but never before two of its beats have failed to come.
ALTER TABLE worker ADD COLUMN pool TEXT;
ALTER TABLE worker ADD COLUMN beat_ms INTEGER;
ALTER TABLE worker ADD COLUMN stale_ms INTEGER;

-- The views once more, with the pool of a worker and with errors as plain text: the message, and no JSON around it.

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
    WHEN NOT json_valid(t.failure) THEN t.failure
    WHEN json_type(t.failure) = 'text' THEN json_extract(t.failure, '$')
    WHEN json_type(t.failure) = 'object' THEN coalesce(json_extract(t.failure, '$.message'), t.failure)
    ELSE t.failure
  END AS error,
  datetime(t.created_at / 1000, 'unixepoch') AS created_at
FROM (
  SELECT
    task.*,
    CASE
      WHEN state IN (5, 6) THEN coalesce(result, (SELECT b.data FROM body b WHERE b.task = task.id AND b.part = 1))
      WHEN state < 4 THEN (SELECT a.error FROM attempt a WHERE a.task = task.id ORDER BY a.attempt DESC LIMIT 1)
    END AS failure
  FROM task
) t
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
  w.pool AS pool_id,
  datetime(w.started_at / 1000, 'unixepoch') AS started_at,
  (SELECT CAST(min(id) AS TEXT) FROM task WHERE state = 1 AND holder = w.id) AS current_task_id,
  w.metadata AS metadata,
  CASE WHEN json_valid(w.metadata) THEN json_extract(w.metadata, '$.error') END AS error
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
  CASE WHEN t.state IN (5, 6) THEN CASE
      WHEN NOT json_valid(t.outcome) THEN t.outcome
      WHEN json_type(t.outcome) = 'text' THEN json_extract(t.outcome, '$')
      WHEN json_type(t.outcome) = 'object' THEN coalesce(json_extract(t.outcome, '$.message'), t.outcome)
      ELSE t.outcome
    END END AS error
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
