import { type Fragments, few } from './fragments.ts';

const SLOT = 's.id, s.key, s.cap, s.active, s.plain, s.tat, s.cost_tat, s.paused_until, d.name, d.body';

/** Statements of limits and their counters. */
export function limitStatements({ s, NOW }: Fragments) {
  const def = `CROSS JOIN LATERAL (SELECT name, body FROM ${s}.limit_def WHERE id = s.def OFFSET 0) d`;

  const readyOf = `CROSS JOIN LATERAL (SELECT id FROM ${s}.task WHERE lane = ls.lane AND state = 0 LIMIT $2) t`;

  return {
    limitLock: `SELECT id, name, body FROM ${s}.limit_def WHERE name = ANY($1::text[]) ORDER BY id FOR SHARE`,
    limitFind: `SELECT id, name, body FROM ${s}.limit_def WHERE name = ANY($1::text[])`,
    limitPut: `INSERT INTO ${s}.limit_def AS d (name, body, revision, changed_at, changed_by) VALUES ($1, $2, 1, ${NOW}, $3)
      ON CONFLICT (name) DO UPDATE SET body = excluded.body, revision = d.revision + 1, changed_at = excluded.changed_at,
        changed_by = excluded.changed_by RETURNING id, body, revision, changed_at, changed_by`,
    /** Locks the limit until the commit, whether it exists or not. */
    limitTake: `INSERT INTO ${s}.limit_def AS d (name, revision, changed_at, changed_by) VALUES ($1, 0, ${NOW}, '')
      ON CONFLICT (name) DO UPDATE SET revision = d.revision RETURNING id, body, revision, changed_at, changed_by`,
    limitRemove: `UPDATE ${s}.limit_def SET body = NULL, revision = revision + 1, changed_at = ${NOW}, changed_by = $2
      WHERE name = $1 AND body IS NOT NULL RETURNING id`,
    limitChangeAdd: `INSERT INTO ${s}.limit_change (def, at, by, body) VALUES ($1, ${NOW}, $2, $3)`,
    limitChanges: `SELECT c.at, c.by, c.body FROM ${s}.limit_change c JOIN ${s}.limit_def d ON d.id = c.def WHERE d.name = $1
      ORDER BY c.id DESC LIMIT $2`,
    limitCaps: `WITH l AS MATERIALIZED (SELECT id FROM ${s}.slot WHERE def = $1 ORDER BY id FOR UPDATE)
      UPDATE ${s}.slot SET cap = CASE WHEN key = '' THEN $2::int ELSE $3::int END, plain = $4 WHERE def = $1 AND id = ANY(ARRAY(SELECT id FROM l))`,
    limitList: `SELECT d.name, d.body, d.revision, d.changed_at, d.changed_by, coalesce(s.active, 0) AS active,
        (SELECT count(*) FROM (SELECT 1 FROM ${s}.lane_slot ls
          CROSS JOIN LATERAL (SELECT 1 FROM ${s}.task t WHERE t.lane = ls.lane AND t.state = 0 LIMIT $1) t
          WHERE ls.slot = s.id LIMIT $1) x) AS waiting
      FROM ${s}.limit_def d LEFT JOIN ${s}.slot s ON s.def = d.id AND s.key = '' WHERE d.body IS NOT NULL ORDER BY d.name`,
    slotAdd: `INSERT INTO ${s}.slot (def, key, cap, plain)
      SELECT def, key, cap, plain FROM unnest($1::int[], $2::text[], $3::int[], $4::boolean[]) x(def, key, cap, plain)
      ORDER BY def, key ON CONFLICT (def, key) DO NOTHING`,
    slotFind: `SELECT s.id, s.def, s.key FROM unnest($1::int[], $2::text[]) x(def, key)
      JOIN ${s}.slot s ON s.def = x.def AND s.key = x.key WHERE ${few('x.def')}`,
    slotGet: `SELECT ${SLOT}, ${NOW} AS now FROM ${s}.slot s ${def} WHERE s.id = ANY($1::int[])`,
    slotsOf: `SELECT ${SLOT} FROM ${s}.slot s JOIN ${s}.limit_def d ON d.id = s.def WHERE d.name = $1 ORDER BY s.key LIMIT $2`,
    /** In a statement of its own before the claim: the values after the lock are the newest. */
    slotLock: `SELECT ${SLOT}, ${NOW} AS now FROM ${s}.slot s ${def} WHERE s.id = ANY($1::int[])
      ORDER BY s.id FOR UPDATE OF s`,
    slotTake: `UPDATE ${s}.slot s SET active = x.active, tat = x.tat, cost_tat = x.cost_tat
      FROM unnest($1::int[], $2::int[], $3::bigint[], $4::bigint[]) x(id, active, tat, cost_tat) WHERE s.id = x.id AND ${few('x.id')}`,
    /** One line of the history for many tasks that are refused at once. */
    slotPause: `WITH l AS MATERIALIZED (SELECT id, def, key, paused_until FROM ${s}.slot WHERE id = ANY($1::int[]) ORDER BY id FOR UPDATE),
      h AS (INSERT INTO ${s}.limit_change (def, at, by, body) SELECT l.def, ${NOW}, $3::text,
        json_build_object('paused', json_build_object('key', l.key, 'forMs', $2::bigint))::text FROM l WHERE l.paused_until <= ${NOW})
      UPDATE ${s}.slot SET paused_until = greatest(paused_until, ${NOW} + $2::bigint) WHERE id = ANY(ARRAY(SELECT id FROM l))`,
    slotPauseNamed: `UPDATE ${s}.slot SET paused_until = ${NOW} + $3
      WHERE key = $2 AND def = (SELECT id FROM ${s}.limit_def WHERE name = $1) RETURNING id`,
    slotWaiting: `SELECT count(*) AS n FROM (SELECT FROM ${s}.lane_slot ls ${readyOf} WHERE ls.slot = $1 LIMIT $2) x`,
    slotReady: `SELECT t.id FROM ${s}.lane_slot ls ${readyOf} WHERE ls.slot = $1 LIMIT $2`,
    /** The first task of each lane. With a million tasks in a lane the smallest number is not searched for. */
    slotOldest: `SELECT min((SELECT id FROM ${s}.task WHERE lane = ls.lane AND state = 0 ORDER BY prio, id LIMIT 1)) AS id
      FROM ${s}.lane_slot ls WHERE ls.slot = $1`,
    slotRunning: `SELECT min(t.id) AS id FROM ${s}.task t JOIN ${s}.lane_slot ls ON ls.lane = t.lane AND ls.slot = $1
      WHERE t.state = 1 AND t.cancel_at IS NULL`,
    slotHolders: `SELECT t.id AS task, t.created_at, ls.weight, t.holder FROM ${s}.task t
      JOIN ${s}.lane_slot ls ON ls.lane = t.lane AND ls.slot = $1 WHERE t.state = 1 ORDER BY t.id LIMIT $2`,
    slotDrift: `SELECT s.id, d.name, s.key, s.active AS kept, coalesce(c.n, 0) AS counted
      FROM ${s}.slot s JOIN ${s}.limit_def d ON d.id = s.def LEFT JOIN (SELECT ls.slot, sum(ls.weight) AS n
        FROM ${s}.task t JOIN ${s}.lane_slot ls ON ls.lane = t.lane WHERE t.state = 1 GROUP BY ls.slot) c ON c.slot = s.id
      WHERE s.active <> coalesce(c.n, 0) ORDER BY s.id`,
    slotSet: `UPDATE ${s}.slot SET active = $2 WHERE id = $1`,
  } as const;
}
