/**
 * While a task waits for its first start, `lease_until` is the time at which it is due, and `expires_at` is how long it may wait from then
 * on.
 */
export const GRAPH_STATEMENTS = {
  depTask: `INSERT INTO task (id, lane, spec, state, prio, max_tries, flags, open, created_at, run_at, lease_until, expires_at,
      payload, parent, root) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  depStand: 'SELECT state FROM task WHERE id = ?',
  depWatch: 'UPDATE task SET flags = flags | 1 WHERE id = ? AND flags & 1 = 0',
  depAdd: 'INSERT INTO dep (up, down, gen, optional, open, planned) VALUES (?, ?, 0, ?, ?, 1)',
  depOpen: `SELECT d.down, d.gen, d.optional OR d.parked AS optional, t.state, t.attempt, t.open, t.flags, t.lane, t.created_at, t.lease_until
    FROM dep d LEFT JOIN task t ON t.id = d.down WHERE d.up = ? AND d.open = 1 ORDER BY d.down LIMIT ?`,
  depClose: 'UPDATE dep SET open = 0 WHERE up = ? AND down <= ? AND open = 1',
  depLeft: 'SELECT 1 FROM dep WHERE up = ? AND open = 1 LIMIT 1',
  downCount: 'UPDATE task SET open = open - 1 WHERE id = ? AND state = 3',
  downWake: `UPDATE task SET state = ?1, run_at = ?2, open = 0, lease_until = NULL,
      expires_at = CASE WHEN attempt = 0 THEN expires_at + ?2 ELSE expires_at END WHERE id = ?3 AND state = 3`,
  downEnd: `UPDATE task SET state = ?, reason = 5, ended_at = ?, open = 0, run_at = NULL, lease_until = NULL,
      flags = flags & ~16 WHERE id = ? AND state = 3`,
  depReopen: `UPDATE dep SET gen = ?, parked = 0, open = (SELECT state < 4 FROM task WHERE id = dep.up) IS 1
    WHERE down = ? AND planned = 1 RETURNING up, open`,
  depList: `SELECT d.up, d.optional, t.created_at, t.state, t.flags, t.result FROM dep d LEFT JOIN task t ON t.id = d.up
    WHERE d.down = ? ORDER BY d.up`,
  depDependents: 'SELECT up, down, optional FROM dep WHERE up = ? AND planned = 1',
  depForget: 'DELETE FROM dep WHERE down = ? AND planned = 0',
  depNeeds: 'SELECT up, down, optional FROM dep WHERE down = ? AND planned = 1',
  carryAdd: `INSERT INTO dep_carry (up, state) VALUES (?, ?)
    ON CONFLICT (up) DO UPDATE SET state = excluded.state`,
  carryNext: 'SELECT up, state FROM dep_carry ORDER BY up LIMIT 1',
  carryDrop: 'DELETE FROM dep_carry WHERE up = ?',
} as const;
