import { type Fragments } from './fragments.ts';

/** Statements of triggers. */
export function triggerStatements({ s }: Fragments) {
  const view = `SELECT t.*, l.handler, q.name AS queue, f.n, f.slot, f.ends, f.at, f.outcome, f.task FROM ${s}.trigger_def t
    JOIN ${s}.lane l ON l.id = t.lane JOIN ${s}.queue q ON q.id = l.queue
    LEFT JOIN ${s}.trigger_fire f ON f.name = t.name AND f.n = t.fires`;
  return {
    // Plain schedules change here; those of workflows change with them, in `workflows.ts`. `triggerPut` keeps the place of a trigger whose schedule is the same: no fire time is lost, and none fires again.
    triggerPut: `INSERT INTO ${s}.trigger_def AS d (name, lane, spec, cron, timezone, missed, prio, max_tries, payload, next_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (name) DO UPDATE SET lane = excluded.lane,
        spec = excluded.spec, cron = excluded.cron, timezone = excluded.timezone, missed = excluded.missed,
        prio = excluded.prio, max_tries = excluded.max_tries, payload = excluded.payload,
        held_at = CASE WHEN d.held_at IS NULL OR d.cron = excluded.cron AND d.timezone = excluded.timezone THEN d.held_at
          ELSE excluded.next_at END,
        next_at = CASE WHEN d.held_at IS NOT NULL OR d.cron = excluded.cron AND d.timezone = excluded.timezone THEN d.next_at
          ELSE excluded.next_at END WHERE d.workflow IS NULL RETURNING next_at`,
    triggerRemove: `DELETE FROM ${s}.trigger_def WHERE name = $1 AND workflow IS NULL RETURNING name`,
    triggerFiresDrop: `DELETE FROM ${s}.trigger_fire WHERE name = $1 AND n <= $2`,
    triggerList: `${view} ORDER BY t.name`,
    triggerFind: `${view} WHERE t.name = $1`,
    triggerPause: `UPDATE ${s}.trigger_def SET held_at = coalesce(held_at, next_at), next_at = $1
      WHERE name = $2 AND workflow IS NULL RETURNING name`,
    triggerResume: `UPDATE ${s}.trigger_def SET next_at = CASE WHEN held_at IS NULL THEN next_at ELSE greatest(held_at, $1) END,
      held_at = NULL WHERE name = $2 AND cron = $3 AND timezone = $4 AND workflow IS NULL RETURNING name`,
    triggerDue: `SELECT t.*, l.handler, q.name AS queue FROM ${s}.trigger_def t JOIN ${s}.lane l ON l.id = t.lane
      JOIN ${s}.queue q ON q.id = l.queue WHERE t.next_at <= $1 ORDER BY t.next_at LIMIT $2`,
    triggerFirst: `SELECT ${s}.now_ms() AS now, (SELECT min(next_at) FROM ${s}.trigger_def) AS at`,
    triggerNext: `SELECT min(next_at) AS at FROM ${s}.trigger_def WHERE next_at > $1`,
    triggerMove: `UPDATE ${s}.trigger_def SET next_at = $1 WHERE name = $2 AND next_at = $3 AND payload = coalesce($4, payload)
      RETURNING name`,
    triggerCount: `UPDATE ${s}.trigger_def SET fires = fires + $1 WHERE name = $2 RETURNING fires, ${s}.now_ms() AS now`,
    triggerFireAdd: `INSERT INTO ${s}.trigger_fire (name, n, slot, ends, at, outcome, task)
      SELECT $1, $2::bigint + x.i, x.slot, x.ends, $3, x.outcome, x.task
      FROM unnest($4::bigint[], $5::bigint[], $6::smallint[], $7::bigint[]) WITH ORDINALITY x(slot, ends, outcome, task, i)`,
    triggerFires: `SELECT n, slot, ends, at, outcome, task FROM ${s}.trigger_fire WHERE name = $1 ORDER BY n DESC LIMIT $2`,

    notify: 'SELECT pg_notify($1, $2)',
  } as const;
}
