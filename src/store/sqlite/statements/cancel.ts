export const CANCEL_STATEMENTS = {
  taskStand:
    'SELECT state, lane, attempt, created_at, holder, started_at, ended_at, flags, result, cancel_at, root FROM task WHERE id = ?',
  cancelIdle: `UPDATE task SET state = 6, reason = ?, ended_at = ?, run_at = NULL, lease_until = NULL, cancel_at = ?,
      flags = flags & ~16 WHERE id = ? AND state IN (0, 2, 3)`,
  cancelAsk: 'UPDATE task SET cancel_at = coalesce(cancel_at, ?) WHERE id = ? AND state = 1',
  revive: `UPDATE task SET state = 0, tries = 0, bounces = 0, reason = 0, run_at = ?, ended_at = NULL, result = NULL,
      cancel_at = NULL, holder = NULL, expires_at = NULL, open = 0, flags = flags & ~24 WHERE id = ? AND state >= 4`,
  reviveWaiting: 'UPDATE task SET state = 3, run_at = NULL, open = ? WHERE id = ? AND state = 0',
} as const;
