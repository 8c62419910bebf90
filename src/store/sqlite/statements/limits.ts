const SLOT = 's.id, s.key, s.cap, s.active, s.tat, s.cost_tat, s.paused_until, d.name, d.body';

export const LIMIT_STATEMENTS = {
  slotAny: 'SELECT 1 FROM slot LIMIT 1',
  limitFind: 'SELECT id, body, revision, changed_at, changed_by FROM limit_def WHERE name = ?',
  limitPut: `INSERT INTO limit_def (name, body, revision, changed_at, changed_by) VALUES (?, ?, 1, ?, ?)
    ON CONFLICT (name) DO UPDATE SET body = excluded.body, revision = revision + 1, changed_at = excluded.changed_at,
      changed_by = excluded.changed_by RETURNING id, revision`,
  limitChangeAdd: 'INSERT INTO limit_change (def, at, by, body) VALUES (?, ?, ?, ?)',
  limitChanges: `SELECT c.at, c.by, c.body FROM limit_change c JOIN limit_def d ON d.id = c.def WHERE d.name = ?
    ORDER BY c.id DESC LIMIT ?`,
  limitCaps: `UPDATE slot SET cap = CASE WHEN key = '' THEN ? ELSE ? END WHERE def = ?`,
  limitList: `SELECT d.name, d.body, d.revision, d.changed_at, d.changed_by, coalesce(s.active, 0) AS active,
      (SELECT count(*) FROM (SELECT 1 FROM lane_slot ls CROSS JOIN task t ON t.lane = ls.lane AND t.state = 0
        WHERE ls.slot = s.id LIMIT ?)) AS waiting
    FROM limit_def d LEFT JOIN slot s ON s.def = d.id AND s.key = '' WHERE d.body IS NOT NULL ORDER BY d.name`,
  slotAdd: 'INSERT OR IGNORE INTO slot (def, key, cap) VALUES (?, ?, ?)',
  slotFind: 'SELECT id FROM slot WHERE def = ? AND key = ?',
  slotGet: `SELECT ${SLOT} FROM slot s JOIN limit_def d ON d.id = s.def WHERE s.id = ?`,
  slotsOf: `SELECT ${SLOT} FROM slot s JOIN limit_def d ON d.id = s.def WHERE d.name = ? ORDER BY s.key LIMIT ?`,
  slotTake: 'UPDATE slot SET active = ?, tat = ?, cost_tat = ? WHERE id = ?',
  // A counter that had drifted must not keep a task from ending; the auditor finds it.
  slotGive: 'UPDATE slot SET active = max(0, active - ?) WHERE id = ?',
  slotPause: 'UPDATE slot SET paused_until = max(paused_until, ?) WHERE id = ?',
  slotPauseNamed: `UPDATE slot SET paused_until = ? WHERE key = ? AND def = (SELECT id FROM limit_def WHERE name = ?)`,
  // How many tasks wait for a counter, counted up to the bound.
  slotWaiting: `SELECT count(*) AS n FROM (SELECT 1 FROM lane_slot ls CROSS JOIN task t ON t.lane = ls.lane AND t.state = 0
    WHERE ls.slot = ? LIMIT ?)`,
  slotReady: `SELECT t.id FROM lane_slot ls CROSS JOIN task t ON t.lane = ls.lane AND t.state = 0 WHERE ls.slot = ? LIMIT ?`,
  // The first task of each lane. With a million tasks in a lane the smallest number is not searched for.
  slotOldest: `SELECT min((SELECT id FROM task WHERE lane = ls.lane AND state = 0 ORDER BY prio, id LIMIT 1)) AS id
    FROM lane_slot ls WHERE ls.slot = ?`,
  slotRunning: `SELECT min(t.id) AS id FROM task t INDEXED BY task_running
    CROSS JOIN lane_slot ls ON ls.lane = t.lane AND ls.slot = ? WHERE t.state = 1 AND t.cancel_at IS NULL`,
  slotHolders: `SELECT t.id AS task, t.created_at AS createdAt, ls.weight, t.holder FROM task t INDEXED BY task_running
    CROSS JOIN lane_slot ls ON ls.lane = t.lane AND ls.slot = ? WHERE t.state = 1 LIMIT ?`,
  slotAudit: `SELECT s.id, d.name, s.key, s.active AS kept, coalesce(c.n, 0) AS counted
    FROM slot s JOIN limit_def d ON d.id = s.def LEFT JOIN (SELECT ls.slot, sum(ls.weight) AS n
      FROM task t INDEXED BY task_running CROSS JOIN lane_slot ls ON ls.lane = t.lane WHERE t.state = 1 GROUP BY ls.slot) c
      ON c.slot = s.id WHERE s.active <> coalesce(c.n, 0)`,
} as const;
