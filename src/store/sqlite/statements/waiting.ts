/** A park is fenced like a settle. */
export const WAITING_STATEMENTS = {
  parkTask: `UPDATE task SET state = 3, run_at = ?, open = ?, tries = tries - 1, bounces = 0, flags = flags & ~16,
      holder = NULL, lease_until = NULL WHERE id = ? AND attempt = ? AND state = 1 AND cancel_at IS NULL`,
  parkChild: 'SELECT 1 FROM task WHERE id = ? AND state < 4',
  parkWatch: 'UPDATE task SET flags = flags | 1 WHERE id = ? AND flags & 1 = 0',
  parkDep: `INSERT INTO dep (up, down, gen, optional, open, parked) VALUES (?, ?, ?, 1, 1, 1)
    ON CONFLICT (up, down) DO UPDATE SET gen = excluded.gen, open = 1, parked = 1`,
  waitPut: `INSERT OR REPLACE INTO wait (task, gen, turn, key, channel, form, since, deadline, state, body)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  waitLater: 'SELECT 1 FROM wait WHERE task = ? AND gen = ? AND turn > ?',
  waitTaken: 'SELECT body FROM wait WHERE task = ? AND gen = ? AND key = ? AND state = 1',
  waitGet: `SELECT w.*, t.state = 3 AND t.attempt = w.gen AS waits FROM wait w LEFT JOIN task t ON t.id = w.task
    WHERE w.task = ?`,
  waitList: `SELECT w.*, 1 AS waits FROM wait w CROSS JOIN task t ON t.id = w.task AND t.state = 3 AND t.attempt = w.gen
    WHERE w.state = 0 AND w.form IS NOT NULL ORDER BY w.since, w.task LIMIT ?`,
  waitOldest: 'SELECT task, gen FROM wait WHERE state = 0 AND channel = ? ORDER BY since, task LIMIT 1',
  waitAll: 'SELECT task, gen FROM wait WHERE state = 0 AND channel = ? ORDER BY since, task',
  waitClose: 'UPDATE wait SET state = 1, body = ? WHERE task = ? AND state = 0',
  waitTimeOut: 'UPDATE wait SET state = 2 WHERE task = ? AND state = 0',
  waitDrop: 'DELETE FROM wait WHERE task = ?',
  waitDropOpen: 'DELETE FROM wait WHERE task = ? AND state = 0',
  wake: 'UPDATE task SET state = 0, run_at = ?, open = 0 WHERE id = ? AND attempt = ? AND state = 3 RETURNING lane, created_at',
  signalAdd: 'INSERT INTO signal (channel, body, at) VALUES (?, ?, ?)',
  signalTake: `DELETE FROM signal WHERE id = (SELECT id FROM signal WHERE channel = ? ORDER BY id LIMIT 1) RETURNING body`,
} as const;
