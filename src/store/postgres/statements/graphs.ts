import { type Fragments, few } from './fragments.ts';

/** Statements of tasks that wait for others. */
export function graphStatements({ s, NOW, tell, where, end }: Fragments) {
  return {
    // While a task waits for its first start, lease_until is the time at which it is due, and expires_at is how long it
    // may wait from then on.
    depLock: `SELECT id, state FROM ${s}.task WHERE id = ANY($1::bigint[]) ORDER BY id FOR NO KEY UPDATE`,
    depWatch: `UPDATE ${s}.task SET flags = flags | 1 WHERE id = ANY($1::bigint[]) AND flags & 1 = 0`,
    /** No row: an earlier try has come through. */
    flightAdd: `INSERT INTO ${s}.flight (store, n, at) VALUES ($1, $2, ${NOW}) ON CONFLICT DO NOTHING RETURNING n`,
    graphAdd: `WITH x AS MATERIALIZED (SELECT x.*, CASE WHEN x.open > 0 THEN 3 WHEN x.due > ${NOW} THEN 2 ELSE 0 END AS state,
          CASE WHEN x.due > ${NOW} THEN x.due END AS at
        FROM (SELECT x.*, coalesce(x.run_at, ${NOW} + x.delay) AS due
          FROM unnest($1::bigint[], $2::int[], $3::int[], $4::int[], $5::smallint[], $6::smallint[], $7::text[], $8::boolean[],
            $9::bigint[], $10::bigint[], $11::bigint[], $12::smallint[], $13::int[])
            x(id, queue, lane, spec, prio, max_tries, payload, apart, run_at, delay, wait, flags, open)) x),
      i AS (INSERT INTO ${s}.task (id, created_at, queue, lane, spec, state, prio, max_tries, flags, open, run_at, lease_until,
          expires_at, payload, parent, root)
        SELECT id, ${NOW}, queue, lane, spec, state, prio, max_tries, flags | CASE WHEN apart THEN 2 ELSE 0 END, open,
          CASE WHEN open = 0 THEN at END, CASE WHEN open > 0 THEN at END,
          CASE WHEN open > 0 THEN wait ELSE coalesce(at, ${NOW}) + wait END, CASE WHEN NOT apart THEN payload END, $17, $18 FROM x),
      b AS (INSERT INTO ${s}.body (task, part, data) SELECT id, 0, payload FROM x WHERE apart
        UNION ALL SELECT task, 2, key FROM unnest($15::bigint[], $16::text[]) k(task, key)),
      e AS (INSERT INTO ${s}.outbox (at, queue, kind, state, n, d_ready, d_scheduled, d_waiting, ids, attempts, born, note)
        SELECT ${NOW}, queue, 0, state, count(*), ${where('state', 0)}, ${where('state', 2)}, ${where('state', 3)},
          array_agg(id ORDER BY id), '{0}', ARRAY[min(${NOW})], $14 FROM x GROUP BY queue, state)
      SELECT id, ${NOW} AS created_at, state FROM x`,
    depAdd: `INSERT INTO ${s}.dep (up, down, gen, optional, open, planned)
      SELECT up, down, 0, optional, open, true
      FROM unnest($1::bigint[], $2::bigint[], $3::boolean[], $4::boolean[]) x(up, down, optional, open)`,
    /** In a statement of its own after the one that ended the tasks: only then are all dependents visible. */
    depOpen: `SELECT up, down, gen, optional OR parked AS optional FROM ${s}.dep WHERE up = ANY($1::bigint[]) AND open LIMIT $2`,
    /** Locks only waiting tasks: a transaction that holds a counter must not wait for a ready or running task. */
    downLock: `SELECT id, attempt, flags FROM ${s}.task WHERE id = ANY($1::bigint[]) AND state + 0 = 3 ORDER BY id FOR UPDATE`,
    /** A range of one pair: of two equal conditions the planner may use only one, and each can have thousands of rows. */
    depClose: `UPDATE ${s}.dep d SET open = false FROM unnest($1::bigint[], $2::bigint[]) x(up, down)
      WHERE (d.up, d.down) >= (x.up, x.down) AND (d.up, d.down) <= (x.up, x.down) AND ${few('x.up')}`,
    // The tasks of these two are locked, and wait.
    downCount: `WITH u AS (UPDATE ${s}.task t SET open = greatest(t.open - x.n, 0),
          lease_until = CASE WHEN t.open > x.n THEN t.lease_until END,
          state = CASE WHEN t.open > x.n THEN 3 WHEN t.lease_until > ${NOW} THEN 2 ELSE 0 END,
          run_at = CASE WHEN t.open > x.n THEN t.run_at ELSE greatest(t.lease_until, ${NOW}) END,
          expires_at = CASE WHEN t.open > x.n OR t.attempt > 0 THEN t.expires_at
            ELSE t.expires_at + greatest(t.lease_until, ${NOW}) END
        FROM unnest($1::bigint[], $2::int[]) x(task, n) WHERE t.id = x.task AND ${few('x.task')}
        RETURNING t.id, t.queue, t.lane, t.state, t.attempt, t.created_at),
      e AS (${tell('u WHERE state <> 3', 12, 'state', { waiting: '-count(*)', ready: where('state', 0), scheduled: where('state', 2) }, 'queue, state')})
      SELECT lane FROM u WHERE state = 0`,
    downEnd: `WITH x AS (DELETE FROM ${s}.task t USING unnest($1::bigint[], $2::smallint[]) d(task, ends)
        WHERE t.id = d.task AND ${few('d.task')} RETURNING t.*, d.ends),
      h AS (${end('x', 'ends', '5', 'flags & ~16', 'NULL')}),
      e AS (${tell('x', 'ends - 2', 'ends', { waiting: '-count(*)', failed: where('ends', 5), cancelled: where('ends', 6) }, 'queue, ends')})
      SELECT id, ends, flags & 1 = 1 FROM x`,
    /** What these tasks were pushed to wait for. */
    depPlans: `SELECT up, down, optional FROM ${s}.dep WHERE down = ANY($1::bigint[]) AND planned`,
    doneLock: `SELECT id, attempt, flags FROM ${s}.done WHERE id = ANY($1::bigint[]) ORDER BY id FOR UPDATE`,
    depReopen: `UPDATE ${s}.dep d SET gen = x.n, parked = false, open = d.up = ANY($3::bigint[]) FROM unnest($1::bigint[], $2::bigint[]) x(task, n)
      WHERE d.down = x.task AND d.planned AND ${few('x.task')}`,
    depList: `SELECT d.up, d.optional, t.created_at, t.state, coalesce(t.result, CASE WHEN t.flags & 8 <> 0 THEN
          (SELECT data FROM ${s}.body b WHERE b.task = d.up AND b.part = 1) END) AS result
      FROM ${s}.dep d LEFT JOIN LATERAL (SELECT created_at, state, flags, NULL AS result FROM ${s}.task WHERE id = d.up
        UNION ALL SELECT created_at, state, flags, result FROM ${s}.done WHERE id = d.up LIMIT 1) t ON true
      WHERE d.down = $1`,
    depDependents: `SELECT up, down, optional FROM ${s}.dep WHERE up = ANY($1::bigint[]) AND planned`,
    carryAdd: `INSERT INTO ${s}.dep_carry (up, state) SELECT up, state FROM unnest($1::bigint[], $2::smallint[]) x(up, state)
      WHERE EXISTS (SELECT FROM ${s}.dep d WHERE d.up = x.up AND d.open) ORDER BY up
      ON CONFLICT (up) DO UPDATE SET state = excluded.state`,
    carryTake: `DELETE FROM ${s}.dep_carry WHERE up = ANY(ARRAY(SELECT up FROM ${s}.dep_carry ORDER BY up LIMIT $1))
      RETURNING up, state`,
    carryLook: `SELECT (SELECT up FROM ${s}.dep_carry ORDER BY up LIMIT 1) IS NOT NULL AS some FROM ${s}.duty WHERE name = $1 AND epoch = $2`,
    carryMore: `SELECT up FROM ${s}.dep_carry ORDER BY up LIMIT 1`,
  } as const;
}
