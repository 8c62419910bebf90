/** Each write is fenced by (id, attempt, running). 257: something depends on it, or it has an allowance. */
export const SETTLE_STATEMENTS = {
  settleFast: `UPDATE task SET state = ?, reason = ?, result = ?, flags = (flags & ~16) | ?, ended_at = ?, lease_until = NULL
    WHERE id = ? AND attempt = ? AND state = 1 AND flags & 257 = 0`,
  // A run of numbers that one attempt number ended alike without a result. The sum keeps both from the index of running tasks.
  settleHeld: `SELECT count(*) AS n FROM task
    WHERE id BETWEEN ? AND ? AND attempt = ? AND state + 0 = 1 AND flags & 257 = 0`,
  settleMany: `UPDATE task SET state = ?, reason = ?, result = NULL, flags = flags & ~16, ended_at = ?, lease_until = NULL
    WHERE id BETWEEN ? AND ? AND attempt = ? AND state + 0 = 1 AND flags & 257 = 0`,
  settleSlow: `UPDATE task SET state = ?, reason = ?, result = ?, flags = (flags & ~16) | ?, ended_at = ?, lease_until = NULL
    WHERE id = ? AND attempt = ? AND state = 1 RETURNING flags`,
  taskPlace: 'SELECT lane, created_at FROM task WHERE id = ?',
  taskEnded: 'SELECT state FROM task WHERE id = ? AND attempt = ? AND state >= 4',
  attemptEnded: 'SELECT outcome FROM attempt WHERE task = ? AND attempt = ?',
  returnTask: `UPDATE task SET state = ?, run_at = ?, tries = tries - ?, bounces = ?, flags = flags & ~?,
      holder = NULL, lease_until = NULL WHERE id = ? AND attempt = ? AND state = 1 AND cancel_at IS NULL`,
  returnLook: `SELECT lane, created_at, holder, started_at, flags, bounces, cancel_at FROM task
    WHERE id = ? AND attempt = ? AND state = 1`,
  attemptAdd: `INSERT OR REPLACE INTO attempt (task, attempt, holder, started_at, ended_at, outcome, error)
    VALUES (?, ?, ?, ?, ?, ?, ?)`,
  attemptList:
    'SELECT attempt, holder, started_at, ended_at, outcome, error FROM attempt WHERE task = ? ORDER BY attempt',
  renew: 'UPDATE task SET lease_until = ? WHERE id = ? AND attempt = ? AND state = 1 RETURNING cancel_at',
  attemptWorker: `SELECT w.name, w.host, CASE WHEN a.task IS NULL THEN t.reason END AS reason,
      CASE WHEN a.task IS NOT NULL THEN a.error WHEN t.state = 5 AND t.flags & 8 = 0 THEN t.result END AS error
    FROM (SELECT ?1 AS task, ?2 AS n) x
    LEFT JOIN attempt a ON a.task = x.task AND a.attempt = x.n LEFT JOIN task t ON t.id = x.task AND t.attempt = x.n
    CROSS JOIN worker w ON w.id = coalesce(a.holder, t.holder)`,
  held: 'SELECT id, attempt, holder, created_at FROM task INDEXED BY task_running WHERE state = 1',
  heldBy: `SELECT id, attempt, holder, created_at FROM task INDEXED BY task_running
    WHERE state = 1 AND holder = ?`,
  cancels: `SELECT id, attempt FROM task INDEXED BY task_running
    WHERE holder = ? AND state = 1 AND cancel_at IS NOT NULL ORDER BY id`,
} as const;
