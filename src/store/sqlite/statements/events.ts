export const EVENT_STATEMENTS = {
  eventAdd: `INSERT INTO event (seq, n, at, queue, kind, state, ids, attempts, born)
    VALUES ((SELECT seq + n FROM event ORDER BY seq DESC LIMIT 1), ?, ?, ?, ?, ?, ?, ?, ?)`,
  eventRead: `SELECT seq, n, at, queue, kind, state, ids, attempts, born FROM event
    WHERE seq >= coalesce((SELECT seq FROM event WHERE seq <= ?1 ORDER BY seq DESC LIMIT 1), 0)
      AND seq < coalesce((SELECT seq FROM event WHERE seq >= ?1 ORDER BY seq LIMIT 1), ?1) + ?2 ORDER BY seq LIMIT ?2 + 1`,
  eventNext: 'SELECT seq + n AS next FROM event ORDER BY seq DESC LIMIT 1',
  eventNews: `SELECT seq + n AS next, n, queue, kind, state, ids FROM event WHERE seq >= ? ORDER BY seq LIMIT ?`,
  statAdd: `INSERT INTO qstat (queue, ready, running, scheduled, waiting, completed, failed, cancelled)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (queue) DO UPDATE SET ready = ready + excluded.ready,
      running = running + excluded.running, scheduled = scheduled + excluded.scheduled,
      waiting = waiting + excluded.waiting, completed = completed + excluded.completed,
      failed = failed + excluded.failed, cancelled = cancelled + excluded.cancelled`,
  statGet: 'SELECT ready, running, scheduled, waiting FROM qstat WHERE queue = ?',
  auditReady: `SELECT l.queue, count(*) AS n FROM task t INDEXED BY task_ready JOIN lane l ON l.id = t.lane
    WHERE t.state = 0 GROUP BY l.queue`,
  auditRunning: `SELECT l.queue, count(*) AS n FROM task t INDEXED BY task_running JOIN lane l ON l.id = t.lane
    WHERE t.state = 1 GROUP BY l.queue`,
  auditDue: `SELECT l.queue, t.state, count(*) AS n FROM task t INDEXED BY task_due JOIN lane l ON l.id = t.lane
    WHERE t.state IN (2, 3) GROUP BY l.queue, t.state`,
} as const;
