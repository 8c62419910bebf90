import { type Fragments } from './fragments.ts';

/** Statements of triggers. */
export function triggerStatements({ s }: Fragments) {
  return {
    // `triggerPut` keeps the place of a trigger whose schedule is the same: no fire time is lost, and none fires again.
    triggerPut: `INSERT INTO ${s}.trigger_def AS d (name, lane, spec, cron, timezone, missed, prio, max_tries, payload, next_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (name) DO UPDATE SET lane = excluded.lane,
        spec = excluded.spec, cron = excluded.cron, timezone = excluded.timezone, missed = excluded.missed,
        prio = excluded.prio, max_tries = excluded.max_tries, payload = excluded.payload,
        next_at = CASE WHEN d.cron = excluded.cron AND d.timezone = excluded.timezone THEN d.next_at
          ELSE excluded.next_at END RETURNING next_at`,
    triggerRemove: `DELETE FROM ${s}.trigger_def WHERE name = $1 RETURNING name`,
    triggerList: `SELECT t.*, l.handler, q.name AS queue FROM ${s}.trigger_def t JOIN ${s}.lane l ON l.id = t.lane
      JOIN ${s}.queue q ON q.id = l.queue ORDER BY t.name`,
    triggerDue: `SELECT t.*, l.handler, q.name AS queue FROM ${s}.trigger_def t JOIN ${s}.lane l ON l.id = t.lane
      JOIN ${s}.queue q ON q.id = l.queue WHERE t.next_at <= $1 ORDER BY t.next_at LIMIT $2`,
    triggerFirst: `SELECT ${s}.now_ms() AS now, (SELECT min(next_at) FROM ${s}.trigger_def) AS at`,
    triggerNext: `SELECT min(next_at) AS at FROM ${s}.trigger_def WHERE next_at > $1`,
    triggerMove: `UPDATE ${s}.trigger_def SET next_at = $1 WHERE name = $2 AND next_at = $3 RETURNING name`,

    notify: 'SELECT pg_notify($1, $2)',
  } as const;
}
