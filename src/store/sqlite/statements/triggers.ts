const VIEW = `SELECT t.*, l.handler, q.name AS queue, f.n, f.slot, f.ends, f.at, f.outcome, f.task FROM trigger_def t
    JOIN lane l ON l.id = t.lane JOIN queue q ON q.id = l.queue LEFT JOIN trigger_fire f ON f.name = t.name AND f.n = t.fires`;

/** Plain schedules change here; those of workflows change with them, in `workflows.ts`. `triggerPut` keeps the place of a trigger whose schedule is the same: no fire time is lost, and none fires again. */
export const TRIGGER_STATEMENTS = {
  triggerPut: `INSERT INTO trigger_def (name, lane, spec, cron, timezone, missed, prio, max_tries, payload, next_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET lane = excluded.lane, spec = excluded.spec,
      cron = excluded.cron, timezone = excluded.timezone, missed = excluded.missed, prio = excluded.prio,
      max_tries = excluded.max_tries, payload = excluded.payload, held_at = CASE
        WHEN trigger_def.held_at IS NULL OR trigger_def.cron = excluded.cron AND trigger_def.timezone = excluded.timezone
        THEN trigger_def.held_at ELSE excluded.next_at END, next_at = CASE
        WHEN trigger_def.held_at IS NOT NULL OR trigger_def.cron = excluded.cron AND trigger_def.timezone = excluded.timezone
        THEN trigger_def.next_at ELSE excluded.next_at END WHERE workflow IS NULL RETURNING next_at`,
  triggerRemove: 'DELETE FROM trigger_def WHERE name = ? AND workflow IS NULL',
  triggerFiresDrop: 'DELETE FROM trigger_fire WHERE name = ? AND n <= ?',
  triggerList: `${VIEW} ORDER BY t.name`,
  triggerFind: `${VIEW} WHERE t.name = ?`,
  triggerPause:
    'UPDATE trigger_def SET held_at = coalesce(held_at, next_at), next_at = ? WHERE name = ? AND workflow IS NULL',
  triggerResume: `UPDATE trigger_def SET next_at = CASE WHEN held_at IS NULL THEN next_at ELSE max(held_at, ?) END, held_at = NULL
    WHERE name = ? AND cron = ? AND timezone = ? AND workflow IS NULL`,
  triggerDue: `SELECT t.*, l.handler, q.name AS queue FROM trigger_def t
    JOIN lane l ON l.id = t.lane JOIN queue q ON q.id = l.queue WHERE t.next_at <= ? ORDER BY t.next_at LIMIT ?`,
  triggerNext: 'SELECT min(next_at) AS at FROM trigger_def WHERE next_at > ?',
  triggerFirst: 'SELECT min(next_at) AS at FROM trigger_def',
  triggerMove: 'UPDATE trigger_def SET next_at = ? WHERE name = ? AND next_at = ? AND payload = coalesce(?, payload)',
  triggerCount: 'UPDATE trigger_def SET fires = fires + ? WHERE name = ? RETURNING fires',
  triggerFireAdd: 'INSERT INTO trigger_fire (name, n, slot, ends, at, outcome, task) VALUES (?, ?, ?, ?, ?, ?, ?)',
  triggerFires: 'SELECT n, slot, ends, at, outcome, task FROM trigger_fire WHERE name = ? ORDER BY n DESC LIMIT ?',
} as const;
