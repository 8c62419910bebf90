import { type Fragments, LANE } from './fragments.ts';

/** Statements of queues, lanes and specs. */
export function laneStatements({ s, NOW }: Fragments) {
  return {
    now: `SELECT ${s}.now_ms() AS now`,
    queuePause: `INSERT INTO ${s}.queue (name, paused) VALUES ($1, $2)
      ON CONFLICT (name) DO UPDATE SET paused = excluded.paused`,
    queueNames: `SELECT id, name FROM ${s}.queue`,
    /** Makes the queues and lanes that are missing, and answers all: it may miss those that another process makes at this moment. */
    laneAdd: `WITH x AS MATERIALIZED (
        SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::int[], $7::text[], $8::text[])
          x(queue, handler, hash, placement, fair_key, weight, limits, uses)),
      made_queue AS (INSERT INTO ${s}.queue (name) SELECT DISTINCT queue FROM x
        WHERE NOT EXISTS (SELECT FROM ${s}.queue q WHERE q.name = x.queue) ORDER BY 1 ON CONFLICT (name) DO NOTHING
        RETURNING id, name, paused),
      q AS MATERIALIZED (SELECT id, name, paused FROM ${s}.queue WHERE name = ANY($1::text[])
        UNION ALL SELECT id, name, paused FROM made_queue),
      made AS (INSERT INTO ${s}.lane (queue, handler, hash, used_at, placement, fair_key, weight, limits, uses)
        SELECT q.id, x.handler, x.hash, ${NOW}, x.placement, x.fair_key, x.weight, x.limits, x.uses FROM x JOIN q ON q.name = x.queue
        WHERE NOT EXISTS (SELECT FROM ${s}.lane l WHERE l.hash = x.hash) ORDER BY x.hash ON CONFLICT (hash) DO NOTHING RETURNING *)
      SELECT ${LANE}, l.hash FROM (SELECT * FROM ${s}.lane WHERE hash = ANY($3::text[]) UNION ALL SELECT * FROM made) l
        JOIN q ON q.id = l.queue`,
    laneFind: `SELECT ${LANE}, l.hash
      FROM ${s}.lane l JOIN ${s}.queue q ON q.id = l.queue WHERE l.hash = ANY($1::text[])`,
    laneGet: `SELECT ${LANE}
      FROM ${s}.lane l JOIN ${s}.queue q ON q.id = l.queue WHERE l.id = ANY($1::int[])`,
    // From one ready lane to the next, not over all lanes that ever existed.
    laneScan: `WITH RECURSIVE r(lane, prio, k) AS (
        (SELECT lane, prio, 1 FROM ${s}.task WHERE state = 0 AND lane > $1 ORDER BY lane, prio, id LIMIT 1)
        UNION ALL
        SELECT t.lane, t.prio, r.k + 1 FROM r CROSS JOIN LATERAL (SELECT lane, prio FROM ${s}.task
          WHERE state = 0 AND lane > r.lane ORDER BY lane, prio, id LIMIT 1) t WHERE r.k < $2)
      SELECT lane, prio FROM r ORDER BY lane`,
    laneDepth: `SELECT d.n, o.since FROM unnest($1::int[]) WITH ORDINALITY l(id, at)
      CROSS JOIN LATERAL (SELECT count(*) AS n FROM (SELECT 1 FROM ${s}.task WHERE state = 0 AND lane = l.id LIMIT $2) x) d
      CROSS JOIN LATERAL (
        WITH RECURSIVE p(prio, since, k) AS (
          (SELECT prio, coalesce(run_at, created_at), 1 FROM ${s}.task WHERE state = 0 AND lane = l.id ORDER BY prio, id LIMIT 1)
          UNION ALL
          SELECT t.prio, t.since, p.k + 1 FROM p CROSS JOIN LATERAL (SELECT prio, coalesce(run_at, created_at) AS since FROM ${s}.task
            WHERE state = 0 AND lane = l.id AND prio > p.prio ORDER BY prio, id LIMIT 1) t WHERE p.k < 64)
        SELECT min(since) AS since FROM p) o ORDER BY l.at`,
    laneServed: `UPDATE ${s}.lane l SET served_by = w.name FROM ${s}.worker w
      WHERE w.id = $1 AND l.id = ANY($2::int[]) AND l.served_by IS DISTINCT FROM w.name`,
    laneSlotAdd: `INSERT INTO ${s}.lane_slot (lane, slot, weight)
      SELECT lane, slot, weight FROM unnest($1::int[], $2::int[], $3::int[]) x(lane, slot, weight) ORDER BY lane, slot
      ON CONFLICT DO NOTHING`,
    /** As `laneAdd`. */
    specAdd: `WITH made AS (INSERT INTO ${s}.spec (hash, body, used_at)
        SELECT x.hash, x.body, ${NOW} FROM unnest($1::text[], $2::text[]) x(hash, body)
        WHERE NOT EXISTS (SELECT FROM ${s}.spec p WHERE p.hash = x.hash) ORDER BY x.hash ON CONFLICT (hash) DO NOTHING
        RETURNING id, hash)
      SELECT id, hash FROM ${s}.spec WHERE hash = ANY($1::text[]) UNION ALL SELECT id, hash FROM made`,
    specGet: `SELECT body FROM ${s}.spec WHERE id = $1`,
  } as const;
}
