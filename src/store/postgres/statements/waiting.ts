import { type Fragments, few } from './fragments.ts';

/** Statements of parks and signals. */
export function waitingStatements({ s, NOW, tell, give }: Fragments) {
  /** The newest wait of each task replaces the one before. */
  const waiting = (
    rows: string,
  ): string => `INSERT INTO ${s}.wait (task, gen, turn, key, channel, form, since, deadline, state, body)
      ${rows} ORDER BY 1 ON CONFLICT (task) DO UPDATE SET gen = excluded.gen, turn = excluded.turn, key = excluded.key, channel = excluded.channel,
        form = excluded.form, since = excluded.since, deadline = excluded.deadline, state = excluded.state, body = excluded.body`;

  /** `which` selects tasks by whether they are metered. */
  const park = (
    which: string,
  ): string => `WITH d AS (SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::int[], $7::bigint[], $8::int[], $9::text[])
        d(task, n, key, channel, form, turn, timeout, opens, others) WHERE ${few('task')}),
      o AS MATERIALIZED (SELECT t.id, t.holder AS held, d.* FROM d JOIN ${s}.task t ON t.id = d.task AND t.attempt = d.n
        WHERE t.state + 0 = 1 AND t.cancel_at IS NULL ${which} ORDER BY t.id FOR UPDATE OF t),
      x AS (UPDATE ${s}.task t SET state = 3, run_at = ${NOW} + o.timeout, open = o.opens, tries = t.tries - 1, bounces = 0,
          flags = t.flags & ~16, holder = NULL, lease_until = NULL
        FROM o WHERE t.id = o.id AND t.attempt = o.n AND t.state + 0 = 1
        RETURNING t.id, t.attempt, t.flags, t.queue, t.lane, t.created_at, t.started_at, t.run_at, o.held, o.turn, o.key, o.channel, o.form, o.others),
      a AS (INSERT INTO ${s}.attempt (task, attempt, holder, started_at, ended_at, outcome)
        SELECT id, attempt, held, started_at, ${NOW}, 6 FROM x
        ON CONFLICT (task, attempt) DO UPDATE SET ended_at = excluded.ended_at, outcome = excluded.outcome),
      w AS (${waiting(`SELECT id, attempt, turn, key, channel, form, ${NOW}, run_at, 0, others FROM x`)}),
      ${give('x')},
      e AS (${tell('x', 11, 3, { running: '-count(*)', waiting: 'count(*)' })})
      SELECT id, flags & 256 = 256 FROM x`;

  return {
    // A park is fenced like a settle.
    latchLock: `SELECT id FROM ${s}.latch WHERE id = ANY($1::smallint[]) ORDER BY id FOR UPDATE`,
    parkLook: `SELECT t.id, coalesce(w.key = x.key AND w.state = 1, false) AS taken, coalesce(w.turn > x.turn, false) AS late, w.body
      FROM (SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::int[]) x(task, n, key, turn) WHERE ${few('task')}) x
      JOIN ${s}.task t ON t.id = x.task AND t.attempt = x.n
      LEFT JOIN ${s}.wait w ON w.task = x.task AND w.gen = x.n
      WHERE t.state + 0 = 1 AND t.cancel_at IS NULL ORDER BY t.id FOR UPDATE OF t`,
    /** Ends with the transaction. */
    circleLock: `SELECT pg_advisory_xact_lock(hashtext('${s}.circle'))`,
    /**
     * Follows what these tasks wait for, and finds whether that is, in the end, the task $2. Only waits for all of their tasks count that
     * neither a time nor a signal would end.
     */
    parkCircle: `WITH RECURSIVE w(task) AS (
        SELECT unnest($1::bigint[])
        UNION
        SELECT d.up FROM w CROSS JOIN LATERAL (SELECT t.id, t.attempt FROM ${s}.task t WHERE t.id = w.task AND t.state + 0 = 3 AND t.run_at IS NULL
            AND t.open >= (SELECT count(*) FROM ${s}.dep o WHERE o.down = t.id AND o.gen = t.attempt AND o.open)
            AND NOT EXISTS (SELECT FROM ${s}.wait c WHERE c.task = t.id AND c.gen = t.attempt AND c.state + 0 = 0 AND c.channel IS NOT NULL) OFFSET 0) t
          CROSS JOIN LATERAL (SELECT d.up FROM ${s}.dep d WHERE d.down = t.id AND d.gen = t.attempt AND d.open OFFSET 0) d)
      SELECT 1 FROM w WHERE task = $2`,
    parkDep: `INSERT INTO ${s}.dep (up, down, gen, optional, open, parked)
      SELECT up, down, gen, true, true, true FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) x(up, down, gen) ORDER BY up, down
      ON CONFLICT (up, down) DO UPDATE SET gen = excluded.gen, open = true, parked = true`,
    park: park(''),
    /** For tasks without an allowance. */
    parkTimers: park('AND t.flags & 256 = 0'),
    waitTaken: waiting(`SELECT task, n, turn, key, channel, form, ${NOW}, NULL, 1, body
      FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::int[], $7::text[]) x(task, n, key, channel, form, turn, body)`),
    waitGet: `SELECT w.*, coalesce((SELECT t.state + 0 = 3 AND t.attempt = w.gen FROM ${s}.task t WHERE t.id = w.task), false) AS waits
      FROM ${s}.wait w WHERE w.task = $1`,
    waitList: `SELECT w.*, true AS waits FROM ${s}.wait w CROSS JOIN LATERAL (SELECT FROM ${s}.task t
        WHERE t.id = w.task AND t.state + 0 = 3 AND t.attempt = w.gen OFFSET 0) t
      WHERE w.state = 0 AND w.form IS NOT NULL ORDER BY w.since, w.task LIMIT $1`,
    waitOldest: `SELECT x.channel, w.task, w.gen FROM unnest($1::text[], $2::int[]) x(channel, k)
      CROSS JOIN LATERAL (SELECT task, gen, since FROM ${s}.wait WHERE state = 0 AND channel = x.channel
        ORDER BY since, task LIMIT x.k) w ORDER BY x.channel, w.since, w.task`,
    /** What else would wake these tasks. */
    waitOthers: `SELECT task, gen, body FROM ${s}.wait WHERE task = ANY($1::bigint[]) AND state = 0 AND body IS NOT NULL`,
    /** The tasks are locked. */
    waitBecome: `UPDATE ${s}.wait w SET key = x.key, channel = x.channel, form = x.form
      FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[]) x(task, key, channel, form) WHERE w.task = x.task AND ${few('x.task')}`,
    waitClose: `UPDATE ${s}.wait w SET state = 1, body = NULL FROM unnest($1::bigint[], $2::bigint[]) x(task, n)
      WHERE w.task = x.task AND w.gen = x.n AND w.state = 0 AND ${few('x.task')}`,
    /** The lock on the row of a waiting task decides about its wait. */
    wake: `WITH o AS MATERIALIZED (SELECT t.id, d.body
        FROM (SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[]) d(task, n, body) WHERE ${few('task')}) d
        JOIN ${s}.task t ON t.id = d.task AND t.attempt = d.n WHERE t.state + 0 = 3 ORDER BY t.id FOR UPDATE OF t),
      x AS (UPDATE ${s}.task SET state = 0, run_at = ${NOW}, open = 0 WHERE id = ANY(ARRAY(SELECT id FROM o))
        RETURNING id, queue, lane, attempt, created_at),
      w AS (UPDATE ${s}.wait w SET state = 1, body = o.body FROM o WHERE w.task = o.id AND w.state = 0 AND ${few('o.id')}),
      e AS (${tell('x', 12, 0, { waiting: '-count(*)', ready: 'count(*)' })})
      SELECT id, lane FROM x`,
    /** The oldest signal of each channel. One that the pruner removes meanwhile is skipped. */
    signalTake: `DELETE FROM ${s}.signal WHERE id = ANY(ARRAY(SELECT g.id FROM unnest($1::text[], $2::int[]) x(channel, k)
        CROSS JOIN LATERAL (SELECT id FROM ${s}.signal WHERE channel = x.channel ORDER BY id LIMIT x.k FOR UPDATE) g))
      RETURNING id, channel, body`,
    signalKept: `SELECT count(*)::int AS kept FROM ${s}.signal WHERE channel = $1`,
    signalAdd: `INSERT INTO ${s}.signal (channel, body, at)
      SELECT channel, body, ${NOW} FROM unnest($1::text[], $2::text[]) WITH ORDINALITY x(channel, body, o) ORDER BY o`,
  } as const;
}
