import { type Fragments } from './fragments.ts';
import { stats } from './reads.ts';

/** Statements of duties and of their work: events, counters, what is old. */
export function dutyStatements({ s, NOW }: Fragments) {
  return {
    /**
     * $4 and $5 name a term that is taken before its time. No epoch: the duty is refused. A term that runs is only read:
     * a write that is refused would lock the row that each pass of its holder needs.
     */
    dutyTake: `WITH b AS MATERIALIZED (SELECT epoch, until FROM ${s}.duty WHERE name = $1),
      t AS (INSERT INTO ${s}.duty AS d (name, holder, epoch, until) SELECT $1::text, $2::text, 1, ${NOW} + $3::bigint
        WHERE NOT EXISTS (SELECT FROM b WHERE until >= ${NOW} AND (epoch = $4::bigint AND until = $5::bigint) IS NOT TRUE)
        ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, epoch = d.epoch + 1, until = excluded.until
        WHERE d.until < ${NOW} OR (d.epoch = $4::bigint AND d.until = $5::bigint) RETURNING epoch, cursor)
      SELECT t.epoch, t.cursor, b.epoch AS held, b.until AS was, b.until - ${NOW} AS left
      FROM (SELECT) x LEFT JOIN t ON true LEFT JOIN b ON true`,
    dutyMine: `SELECT epoch, cursor FROM ${s}.duty WHERE name = $1 AND holder = $2 AND until >= ${NOW}`,
    dutyRenew: `UPDATE ${s}.duty SET until = ${NOW} + $3 WHERE name = $1 AND epoch = $2 AND until >= ${NOW} RETURNING epoch`,
    dutyAlone: `SELECT cursor FROM ${s}.duty WHERE name = $1 AND epoch = $2 FOR UPDATE`,
    dutyRelease: `UPDATE ${s}.duty SET until = 0 WHERE name = $1 AND epoch = $2`,
    /** A repeat of the same call waits, and then sees what the first has done. */
    dutyHeld: `SELECT cursor FROM ${s}.duty WHERE name = $1 AND epoch = $2 FOR NO KEY UPDATE`,
    dutyCursor: `UPDATE ${s}.duty SET cursor = $3 WHERE name = $1 AND epoch = $2`,

    // Events: a writer of a task has seen the commit before it, so its row in the outbox has the larger id.
    sequence: `WITH f AS MATERIALIZED (SELECT cursor FROM ${s}.duty WHERE name = $1 AND epoch = $2 FOR UPDATE),
      x AS (DELETE FROM ${s}.outbox WHERE id = ANY(ARRAY(SELECT id FROM ${s}.outbox WHERE EXISTS (SELECT FROM f) ORDER BY id LIMIT $3))
        RETURNING *),
      n AS (SELECT x.*, (SELECT cursor FROM f) + 1
          + coalesce(sum(n) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS seq FROM x),
      i AS (INSERT INTO ${s}.event (seq, n, at, queue, kind, state, ids, attempts, born, note)
        SELECT seq, n, at, queue, kind, state, ids, attempts, born, note FROM n RETURNING n),
      q AS (INSERT INTO ${s}.qstat AS c (queue, ready, running, scheduled, waiting, completed, failed, cancelled)
        SELECT queue, sum(d_ready), sum(d_running), sum(d_scheduled), sum(d_waiting), sum(d_completed), sum(d_failed),
          sum(d_cancelled) FROM x WHERE queue > 0 GROUP BY queue ORDER BY queue
        ON CONFLICT (queue) DO UPDATE SET ready = c.ready + excluded.ready, running = c.running + excluded.running,
          scheduled = c.scheduled + excluded.scheduled, waiting = c.waiting + excluded.waiting,
          completed = c.completed + excluded.completed, failed = c.failed + excluded.failed,
          cancelled = c.cancelled + excluded.cancelled),
      u AS (UPDATE ${s}.duty SET cursor = cursor + (SELECT coalesce(sum(n), 0) FROM i)
        WHERE name = $1 AND epoch = $2 AND EXISTS (SELECT FROM i) RETURNING cursor)
      SELECT (SELECT cursor FROM f) AS held, (SELECT count(*) FROM i) AS rows, (SELECT coalesce(sum(n), 0) FROM i) AS events`,
    eventRead: `SELECT seq, n, at, queue, kind, state, ids, attempts, born FROM ${s}.event
      WHERE seq >= coalesce((SELECT seq FROM ${s}.event WHERE seq <= $1 ORDER BY seq DESC LIMIT 1), 0)
        AND seq < coalesce((SELECT seq FROM ${s}.event WHERE seq >= $1 ORDER BY seq LIMIT 1), $1) + $2::bigint
      ORDER BY seq LIMIT $2::bigint + 1`,

    // Audit.
    audit: `WITH c AS (SELECT queue, state, count(*) AS n FROM ${s}.task GROUP BY queue, state)
      SELECT q.id, q.name, x.state, coalesce(c.n, 0) AS counted, x.kept FROM (${stats(s)}) q
      CROSS JOIN LATERAL (VALUES (0, q.ready), (1, q.running), (2, q.scheduled), (3, q.waiting)) x(state, kept)
      LEFT JOIN c ON c.queue = q.id AND c.state = x.state WHERE coalesce(c.n, 0) <> x.kept ORDER BY q.name, x.state`,
    statAdd: `INSERT INTO ${s}.qstat AS c (queue, ready, running, scheduled, waiting) VALUES ($1, $2, $3, $4, $5)
      ON CONFLICT (queue) DO UPDATE SET ready = c.ready + excluded.ready, running = c.running + excluded.running,
        scheduled = c.scheduled + excluded.scheduled, waiting = c.waiting + excluded.waiting`,
  } as const;
}
