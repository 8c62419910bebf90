const LANE = `l.id, l.queue, q.name, l.handler, q.paused, l.placement, l.fair_key, l.weight, l.limits, l.slots,
  l.served_by`;

export const LANE_STATEMENTS = {
  queueFind: 'SELECT id, paused FROM queue WHERE name = ?',
  queueAdd: 'INSERT INTO queue (name) VALUES (?) RETURNING id',
  queuePause: 'UPDATE queue SET paused = ? WHERE id = ?',
  queueNames: 'SELECT id, name FROM queue',
  queueList: `SELECT q.name, q.paused, s.ready, s.running, s.scheduled, s.waiting, s.completed, s.failed, s.cancelled
    FROM queue q LEFT JOIN qstat s ON s.queue = q.id ORDER BY q.name`,
  queueStats: `SELECT s.ready, s.running, s.scheduled, s.waiting, s.completed, s.failed, s.cancelled
    FROM queue q LEFT JOIN qstat s ON s.queue = q.id WHERE q.name = ?`,
  laneFind: `SELECT ${LANE} FROM lane l JOIN queue q ON q.id = l.queue WHERE l.hash = ?`,
  laneAdd: `INSERT INTO lane (queue, handler, hash, used_at, placement, fair_key, weight, limits, slots)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`,
  laneServed: `UPDATE lane SET served_by = (SELECT name FROM worker WHERE id = ?1)
    WHERE id = ?2 AND served_by IS NOT (SELECT name FROM worker WHERE id = ?1)`,
  laneSlotAdd: 'INSERT INTO lane_slot (lane, slot, weight) VALUES (?, ?, ?)',
  laneById: `SELECT ${LANE} FROM lane l JOIN queue q ON q.id = l.queue WHERE l.id = ?`,
  laneTouch: 'UPDATE lane SET used_at = ? WHERE id = ?',
  laneGet: `SELECT l.queue, q.name AS queueName, l.handler, l.slots, l.placement LIKE '%"affinity"%' AS affine FROM lane l JOIN queue q ON q.id = l.queue WHERE l.id = ?`,
  // CROSS JOIN keeps this order: from the few lanes that are ready, not over all lanes that ever existed.
  laneScan: `WITH RECURSIVE r(lane) AS (
      SELECT (SELECT lane FROM task WHERE state = 0 AND lane > ? ORDER BY lane LIMIT 1)
      UNION ALL
      SELECT (SELECT lane FROM task WHERE state = 0 AND lane > r.lane ORDER BY lane LIMIT 1) FROM r WHERE r.lane IS NOT NULL
      LIMIT ?)
    SELECT lane AS id, 0 - (SELECT prio FROM task WHERE state = 0 AND lane = r.lane ORDER BY prio LIMIT 1) AS priority
    FROM r WHERE lane IS NOT NULL`,
  laneDepth:
    'SELECT count(*) AS n FROM (SELECT 1 FROM task INDEXED BY task_ready WHERE state = 0 AND lane = ? LIMIT ?)',
  // From one priority to the next: the first task of each is its oldest. With very many priorities only the most urgent
  // are read.
  laneOldest: `WITH RECURSIVE p(prio) AS (
      SELECT (SELECT prio FROM task WHERE state = 0 AND lane = ?1 ORDER BY prio LIMIT 1)
      UNION ALL
      SELECT (SELECT prio FROM task WHERE state = 0 AND lane = ?1 AND prio > p.prio ORDER BY prio LIMIT 1) FROM p WHERE p.prio IS NOT NULL
      LIMIT 64)
    SELECT min((SELECT coalesce(run_at, created_at) FROM task WHERE state = 0 AND lane = ?1 AND prio = p.prio ORDER BY id LIMIT 1)) AS since
    FROM p WHERE p.prio IS NOT NULL`,
  specFind: 'SELECT id FROM spec WHERE hash = ?',
  specAdd: 'INSERT INTO spec (hash, body, used_at) VALUES (?, ?, ?) RETURNING id',
  specTouch: 'UPDATE spec SET used_at = ? WHERE id = ?',
  specGet: 'SELECT body FROM spec WHERE id = ?',
} as const;
