/** `triggerPut` keeps the place of a trigger whose schedule is the same: no fire time is lost, and none fires again. */
export const TRIGGER_STATEMENTS = {
  triggerPut: `INSERT INTO trigger_def (name, lane, spec, cron, timezone, missed, prio, max_tries, payload, next_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET lane = excluded.lane, spec = excluded.spec,
      cron = excluded.cron, timezone = excluded.timezone, missed = excluded.missed, prio = excluded.prio,
      max_tries = excluded.max_tries, payload = excluded.payload, next_at = CASE
        WHEN trigger_def.cron = excluded.cron AND trigger_def.timezone = excluded.timezone THEN trigger_def.next_at
        ELSE excluded.next_at END RETURNING next_at`,
  triggerRemove: 'DELETE FROM trigger_def WHERE name = ?',
  triggerList: `SELECT t.*, l.handler, q.name AS queue FROM trigger_def t
    JOIN lane l ON l.id = t.lane JOIN queue q ON q.id = l.queue ORDER BY t.name`,
  triggerDue: `SELECT t.*, l.handler, q.name AS queue FROM trigger_def t
    JOIN lane l ON l.id = t.lane JOIN queue q ON q.id = l.queue WHERE t.next_at <= ? ORDER BY t.next_at LIMIT ?`,
  triggerNext: 'SELECT min(next_at) AS at FROM trigger_def WHERE next_at > ?',
  triggerFirst: 'SELECT min(next_at) AS at FROM trigger_def',
  triggerMove: 'UPDATE trigger_def SET next_at = ? WHERE name = ? AND next_at = ?',
} as const;
