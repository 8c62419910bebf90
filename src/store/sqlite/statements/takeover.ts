export const TAKEOVER_STATEMENTS = {
  overdue: `SELECT id, attempt, spec, tries, max_tries, cancel_at FROM task INDEXED BY task_running
    WHERE state = 1 AND lease_until < ? LIMIT ?`,
  nextExpiry: 'SELECT min(lease_until) AS at FROM task INDEXED BY task_running WHERE state = 1 AND lease_until >= ?',
  firstExpiry: 'SELECT min(lease_until) AS at FROM task INDEXED BY task_running WHERE state = 1',
  reapLook: `SELECT lane, created_at, holder, started_at, cancel_at, flags FROM task
    WHERE id = ? AND attempt = ? AND state = 1 AND lease_until < ?`,
  reapEnd: `UPDATE task SET state = ?, reason = ?, ended_at = ?, lease_until = NULL, flags = flags & ~16
    WHERE id = ? AND attempt = ? AND state = 1 AND lease_until < ?`,
  reapAgain: `UPDATE task SET state = ?, run_at = ?, holder = NULL, lease_until = NULL, flags = (flags | 16) & ~1024
    WHERE id = ? AND attempt = ? AND state = 1 AND lease_until < ?`,
  // A wait without a deadline has no run_at, and is never read.
  stageLook: `SELECT id, lane, state, attempt, created_at FROM task
    WHERE state IN (2, 3) AND run_at <= ? ORDER BY run_at LIMIT ?`,
  // run_at of a ready task is the time since when it is ready, if that is not its creation.
  stageOne: 'UPDATE task SET state = 0, open = 0 WHERE id = ? AND state IN (2, 3)',
  // What is due after a while, moved with a calendar that was set back. 1024: the first start was asked for at a calendar time.
  stepDue: `UPDATE task SET run_at = run_at - ? WHERE state IN (2, 3) AND run_at IS NOT NULL AND (state = 3 OR flags & 1024 = 0)`,
  stepHeld: `UPDATE task SET lease_until = lease_until - ? WHERE state IN (2, 3) AND run_at IS NULL AND state = 3
    AND lease_until IS NOT NULL AND flags & 1024 = 0`,
  stepExpiry: `UPDATE task SET expires_at = expires_at - ? WHERE expires_at IS NOT NULL AND state IN (0, 2) AND attempt = 0 AND flags & 1024 = 0`,
  stepWait: `UPDATE wait SET deadline = deadline - ? WHERE state = 0 AND deadline IS NOT NULL
    AND task IN (SELECT id FROM task WHERE state IN (2, 3) AND run_at IS NOT NULL AND state = 3)`,
  stageNext: 'SELECT run_at FROM task WHERE state IN (2, 3) AND run_at IS NOT NULL ORDER BY run_at LIMIT 1',
  expireLook: `SELECT id, lane, state, created_at, flags FROM task
    WHERE expires_at IS NOT NULL AND state IN (0, 2) AND attempt = 0 AND expires_at <= ? ORDER BY expires_at LIMIT ?`,
  expireOne: `UPDATE task SET state = 5, reason = 6, ended_at = ?, run_at = NULL, expires_at = NULL
    WHERE id = ? AND state IN (0, 2) AND attempt = 0`,
  expireNext: `SELECT expires_at FROM task
    WHERE expires_at IS NOT NULL AND state IN (0, 2) AND attempt = 0 ORDER BY expires_at LIMIT 1`,
} as const;
