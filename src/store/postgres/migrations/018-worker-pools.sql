-- What a worker says when it registers: the pool that it belongs to, how often it beats, and how long it may be silent before it is
-- lost. Without the last one the reaper decides, but never before two of its beats have failed to come.
ALTER TABLE worker ADD COLUMN pool text;
ALTER TABLE worker ADD COLUMN beat_ms bigint;
ALTER TABLE worker ADD COLUMN stale_ms bigint;

-- The views once more, with the pool of a worker and with errors as plain text: the message, and no JSON around it.

CREATE FUNCTION error_text(body text) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  found json;
BEGIN
  found := body::json;
  RETURN CASE json_typeof(found)
    WHEN 'string' THEN found #>> '{}' WHEN 'object' THEN coalesce(found ->> 'message', body) ELSE body
  END;
EXCEPTION WHEN data_exception THEN
  RETURN body;
END $$;

CREATE OR REPLACE VIEW work_pool AS
SELECT
  t.id::text AS id,
  t.id::text AS item_id,
  q.name AS pool_name,
  coalesce(t.payload, (SELECT b.data FROM body b WHERE b.task = t.id AND b.part = 0), 'null') AS data,
  CASE t.state
    WHEN 1 THEN 'claimed' WHEN 4 THEN 'done' WHEN 5 THEN 'poisoned' WHEN 6 THEN 'cancelled' ELSE 'pending'
  END AS status,
  w.name AS claimed_by,
  CASE WHEN t.holder IS NOT NULL THEN utc_text(t.started_at) END AS claimed_at,
  t.tries AS attempts,
  t.max_tries AS max_retries,
  CASE WHEN t.state = 4 THEN coalesce(t.result, (SELECT b.data FROM body b WHERE b.task = t.id AND b.part = 1)) END AS result,
  error_text(CASE
    WHEN t.state IN (5, 6) THEN coalesce(t.result, (SELECT b.data FROM body b WHERE b.task = t.id AND b.part = 1))
    WHEN t.state < 4 THEN (SELECT a.error FROM attempt a WHERE a.task = t.id ORDER BY a.attempt DESC LIMIT 1)
  END) AS error,
  utc_text(t.created_at) AS created_at
FROM (
  SELECT id, created_at, started_at, queue, holder, state, tries, max_tries, payload, NULL::text AS result FROM task
  UNION ALL
  SELECT id, created_at, started_at, queue, holder, state, tries, max_tries, payload, result FROM done
) t
JOIN queue q ON q.id = t.queue
LEFT JOIN worker w ON w.id = t.holder;

-- The newest incarnation of each name.
CREATE OR REPLACE VIEW worker_registry AS
SELECT DISTINCT ON (w.name)
  w.name AS worker_id,
  coalesce(w.status, CASE w.state WHEN 2 THEN 'terminating' WHEN 3 THEN 'terminated' WHEN 4 THEN 'lost' ELSE 'active' END)
    AS status,
  utc_text(w.beat_at) AS last_heartbeat,
  w.host AS host,
  w.pid AS pid,
  w.tags AS capabilities,
  w.pool AS pool_id,
  utc_text(w.started_at) AS started_at,
  (SELECT min(t.id)::text FROM task t WHERE t.state = 1 AND t.holder = w.id) AS current_task_id,
  w.metadata AS metadata,
  json_part(w.metadata, 'error') AS error
FROM worker w
ORDER BY w.name, w.id DESC;

-- The tasks of the queue "runs".
CREATE OR REPLACE VIEW runs AS
SELECT
  coalesce((SELECT u.key FROM uniq u WHERE u.task = t.id LIMIT 1), t.id::text) AS run_id,
  utc_text(t.created_at) AS created_at,
  utc_text(coalesce(t.ended_at, t.cancel_at, t.started_at, t.created_at)) AS updated_at,
  CASE t.state
    WHEN 1 THEN CASE WHEN t.cancel_at IS NULL THEN 'running' ELSE 'cancel_requested' END
    WHEN 4 THEN 'completed' WHEN 5 THEN 'failed' WHEN 6 THEN 'cancelled' ELSE 'queued'
  END AS status,
  t.handler AS entrypoint,
  t.spec_json AS run_spec_json,
  json_part(t.spec_json, 'workspace_dir') AS workspace_dir,
  json_part(t.spec_json, 'run_mode') AS run_mode,
  json_part(t.spec_json, 'job_path') AS job_path,
  json_part(t.spec_json, 'prompt') AS last_job_prompt,
  substring(json_part(t.spec_json, 'max_iterations') FROM '^-?[0-9]{1,15}$')::bigint AS max_iterations,
  CASE WHEN t.state = 1 THEN w.name END AS lease_owner,
  utc_text(t.lease_until) AS lease_expires_at,
  CASE WHEN t.state = 1 THEN utc_text(w.beat_at) END AS last_heartbeat_at,
  utc_text(t.cancel_at) AS cancel_requested_at,
  t.tries AS attempts,
  t.max_tries AS max_attempts,
  CASE WHEN t.state = 4 THEN t.outcome END AS result,
  error_text(CASE WHEN t.state IN (5, 6) THEN t.outcome END) AS error
FROM (
  SELECT
    a.*,
    l.handler,
    coalesce(a.payload, (SELECT b.data FROM body b WHERE b.task = a.id AND b.part = 0), 'null') AS spec_json,
    coalesce(a.result, (SELECT b.data FROM body b WHERE b.task = a.id AND b.part = 1)) AS outcome
  FROM (
    SELECT id, created_at, started_at, NULL::bigint AS ended_at, cancel_at, lease_until, queue, lane, holder, state, tries,
      max_tries, payload, NULL::text AS result FROM task
    UNION ALL
    SELECT id, created_at, started_at, ended_at, cancel_at, NULL, queue, lane, holder, state, tries, max_tries, payload,
      result FROM done
  ) a
  JOIN lane l ON l.id = a.lane
  JOIN queue q ON q.id = a.queue AND q.name = 'runs'
) t
LEFT JOIN worker w ON w.id = t.holder;
