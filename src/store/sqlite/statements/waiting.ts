/** A park is fenced like a settle. */
export const WAITING_STATEMENTS = {
  parkTask: `UPDATE task SET state = 3, run_at = ?, open = ?, tries = tries - 1, bounces = 0, flags = flags & ~16,
      holder = NULL, lease_until = NULL WHERE id = ? AND attempt = ? AND state = 1 AND cancel_at IS NULL`,
  parkChild: 'SELECT 1 FROM task WHERE id = ? AND state < 4',
  /**
   * Follows what these tasks wait for, and finds whether that is, in the end, the task ?2. Only waits for all of their tasks count that
   * neither a time nor a signal would end.
   */
  parkCircle: `WITH RECURSIVE w(task) AS (
      SELECT value FROM json_each(?1)
      UNION
      SELECT d.up FROM w CROSS JOIN task t ON t.id = w.task CROSS JOIN dep d ON d.down = t.id AND d.gen = t.attempt AND d.open = 1
      WHERE t.state = 3 AND t.run_at IS NULL
        AND t.open >= (SELECT count(*) FROM dep o WHERE o.down = t.id AND o.gen = t.attempt AND o.open = 1)
        AND NOT EXISTS (SELECT 1 FROM wait s WHERE s.task = t.id AND s.state = 0 AND s.gen = t.attempt AND s.channel IS NOT NULL))
    SELECT 1 FROM w WHERE task = ?2`,
  parkWatch: 'UPDATE task SET flags = flags | 1 WHERE id = ? AND flags & 1 = 0',
  parkDep: `INSERT INTO dep (up, down, gen, optional, open, parked) VALUES (?, ?, ?, 1, 1, 1)
    ON CONFLICT (up, down) DO UPDATE SET gen = excluded.gen, open = 1, parked = 1`,
  waitPut: `INSERT OR REPLACE INTO wait (task, gen, turn, key, channel, form, since, deadline, state, body)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  waitLater: 'SELECT 1 FROM wait WHERE task = ? AND gen = ? AND turn > ?',
  waitTaken: 'SELECT key, body FROM wait WHERE task = ? AND gen = ? AND state = 1',
  waitGet: `SELECT w.*, t.state = 3 AND t.attempt = w.gen AS waits FROM wait w LEFT JOIN task t ON t.id = w.task
    WHERE w.task = ?`,
  waitList: `SELECT w.*, 1 AS waits FROM wait w CROSS JOIN task t ON t.id = w.task AND t.state = 3 AND t.attempt = w.gen
    WHERE w.state = 0 AND w.form IS NOT NULL ORDER BY w.since, w.task LIMIT ?`,
  waitOldest: 'SELECT task, gen FROM wait WHERE state = 0 AND channel = ? ORDER BY since, task LIMIT 1',
  waitAll: 'SELECT task, gen FROM wait WHERE state = 0 AND channel = ? ORDER BY since, task',
  waitOthers: 'SELECT gen, body FROM wait WHERE task = ? AND state = 0 AND body IS NOT NULL',
  waitBecome: 'UPDATE wait SET key = ?, channel = ?, form = ? WHERE task = ?',
  waitClose: 'UPDATE wait SET state = 1, body = ? WHERE task = ? AND state = 0',
  waitTimeOut: 'UPDATE wait SET state = 2 WHERE task = ? AND state = 0',
  waitDrop: 'DELETE FROM wait WHERE task = ?',
  waitDropOpen: 'DELETE FROM wait WHERE task = ? AND state = 0',
  wake: 'UPDATE task SET state = 0, run_at = ?, open = 0 WHERE id = ? AND attempt = ? AND state = 3 RETURNING lane, created_at',
  signalAdd: 'INSERT INTO signal (channel, body, at) VALUES (?, ?, ?)',
  signalKept: 'SELECT count(*) AS kept FROM signal WHERE channel = ?',
  signalTake: `DELETE FROM signal WHERE id = (SELECT id FROM signal WHERE channel = ? ORDER BY id LIMIT 1) RETURNING body`,
} as const;
