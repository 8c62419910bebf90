import { AT_TIME } from '../../codes.ts';
import { type Fragments, few } from './fragments.ts';

/** Statements of the holder of a task: settle, return, renew, log. */
export function settleStatements({ s, NOW, tell, where, end, give }: Fragments) {
  /** Ends of all kinds. `which` selects tasks by whether something waits for them. */
  const settle = (
    which: string,
    columns: string,
  ): string => `WITH d AS (SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::smallint[], $4::smallint[], $5::text[], $6::boolean[])
        d(task, n, ends, reason, result, apart) WHERE ${few('task')}),
      x AS (DELETE FROM ${s}.task t USING d WHERE t.id = d.task AND t.attempt = d.n AND t.state + 0 = 1 ${which}
        RETURNING t.*, d.ends, d.reason, d.result, d.apart),
      h AS (${end('x', 'ends', 'reason', '(flags & ~16) | CASE WHEN apart THEN 8 ELSE 0 END', 'CASE WHEN NOT apart THEN result END')}),
      b AS (INSERT INTO ${s}.body (task, part, data) SELECT id, 1, result FROM x WHERE apart
        ON CONFLICT (task, part) DO UPDATE SET data = excluded.data),
      ${give('x')},
      e AS (${tell('x', 'ends - 2', 'ends', { running: '-count(*)', completed: where('ends', 4), failed: where('ends', 5), cancelled: where('ends', 6) }, 'queue, ends')})
      SELECT ${columns} FROM x`;

  /** Returns. `which` selects tasks by whether they are metered. */
  const giveUp = (
    which: string,
  ): string => `WITH d AS (SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::smallint[], $4::bigint[], $5::smallint[], $6::smallint[],
        $7::text[]) d(task, n, outcome, delay, refund, bounced, error) WHERE ${few('task')}),
      o AS MATERIALIZED (SELECT t.id, t.holder AS held, d.* FROM d JOIN ${s}.task t ON t.id = d.task AND t.attempt = d.n
        WHERE t.state + 0 = 1 AND t.cancel_at IS NULL ${which} ORDER BY t.id FOR UPDATE OF t),
      x AS (UPDATE ${s}.task t SET state = CASE WHEN o.delay > 0 THEN 2 ELSE 0 END,
          run_at = ${NOW} + o.delay, tries = t.tries - o.refund,
          bounces = CASE WHEN o.outcome = 0 THEN 0 ELSE t.bounces + o.bounced END,
          flags = CASE WHEN o.outcome = 0 THEN t.flags & ~16 ELSE t.flags END & ~${AT_TIME}, holder = NULL, lease_until = NULL
        FROM o WHERE t.id = o.id AND t.attempt = o.n AND t.state + 0 = 1
        RETURNING t.id, t.attempt, t.flags, t.queue, t.lane, t.state, t.created_at, t.started_at, o.held, o.outcome, o.error),
      a AS (INSERT INTO ${s}.attempt (task, attempt, holder, started_at, ended_at, outcome, error)
        SELECT id, attempt, held, started_at, ${NOW}, outcome, error FROM x
        ON CONFLICT (task, attempt) DO UPDATE SET ended_at = excluded.ended_at, outcome = excluded.outcome,
          error = excluded.error),
      ${give('x')},
      e AS (${tell('x', 'outcome + 5', 'state', { running: '-count(*)', ready: where('state', 0), scheduled: where('state', 2) }, 'queue, outcome, state')})
      SELECT id, attempt, lane, state, flags & 256 = 256 FROM x`;

  return {
    // Each write is fenced by (id, attempt, running).
    /** All completed, with results that stay in their rows, as in most flushes. */
    complete: `WITH d AS (SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[]) d(task, n, result) WHERE ${few('task')}),
      x AS (DELETE FROM ${s}.task t USING d WHERE t.id = d.task AND t.attempt = d.n AND t.state + 0 = 1 AND t.flags & 257 = 0
        RETURNING t.*, d.result),
      h AS (${end('x', '4', '0', 'flags & ~16', 'result')}),
      e AS (${tell('x', 2, 4, { running: '-count(*)', completed: 'count(*)' })} RETURNING n, ids, attempts)
      SELECT n, CASE WHEN n < cardinality($1) THEN ids END, CASE WHEN n < cardinality($1) THEN attempts END FROM e`,
    /** The same where some of the tasks may take from limits. */
    completeLimited: `WITH d AS (SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[]) d(task, n, result) WHERE ${few('task')}),
      x AS (DELETE FROM ${s}.task t USING d WHERE t.id = d.task AND t.attempt = d.n AND t.state + 0 = 1 AND t.flags & 257 = 0
        RETURNING t.*, d.result),
      h AS (${end('x', '4', '0', 'flags & ~16', 'result')}),
      ${give('x')},
      e AS (${tell('x', 2, 4, { running: '-count(*)', completed: 'count(*)' })} RETURNING n, ids, attempts)
      SELECT n, CASE WHEN n < cardinality($1) THEN ids END, CASE WHEN n < cardinality($1) THEN attempts END FROM e`,
    settle: settle('AND t.flags & 257 = 0', 'id, attempt'),
    /** Includes tasks that something waits for, and metered ones. In a transaction with what follows of that. */
    settleWatched: settle('', 'id, attempt, ends, flags & 1 = 1, flags & 256 = 256'),
    /** The leases among these that the fast statements have left: something waits for the end of their tasks, or they are metered. */
    watched: `SELECT t.id, t.attempt FROM ${s}.task t JOIN unnest($1::bigint[], $2::bigint[]) x(task, n)
      ON t.id = x.task AND t.attempt = x.n WHERE t.state + 0 = 1 AND t.flags & 257 <> 0 AND ${few('x.task')}`,
    /** How these attempts ended, if they did. 3 and above are final states, in the numbers of `attempt.outcome`. */
    endedAs: `SELECT x.task, x.n, coalesce(a.outcome, h.state - 1) AS outcome FROM unnest($1::bigint[], $2::bigint[]) x(task, n)
      LEFT JOIN ${s}.attempt a ON a.task = x.task AND a.attempt = x.n
      LEFT JOIN LATERAL (SELECT state FROM ${s}.done WHERE id = x.task AND attempt = x.n LIMIT 1) h ON true
      WHERE x.n > 0 AND ${few('x.task')} AND (a.outcome IS NOT NULL OR h.state IS NOT NULL)`,
    return: giveUp('AND t.flags & 256 = 0'),
    /** Includes metered tasks. */
    returnMetered: giveUp(''),
    cancelWanted: `SELECT t.id FROM ${s}.task t JOIN unnest($1::bigint[], $2::bigint[]) x(task, n) ON t.id = x.task AND t.attempt = x.n
      WHERE t.state + 0 = 1 AND t.cancel_at IS NOT NULL AND ${few('x.task')}`,
    renew: `UPDATE ${s}.task t SET lease_until = ${NOW} + d.ttl FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) d(task, n, ttl)
      WHERE t.id = d.task AND t.attempt = d.n AND t.state + 0 = 1 AND ${few('d.task')}
      RETURNING t.id, t.lease_until, t.cancel_at IS NOT NULL`,
    attemptWorkers: `SELECT x.task, x.n, w.name, w.host,
        CASE WHEN a.task IS NULL THEN h.reason END AS reason,
        CASE WHEN a.task IS NULL THEN h.error ELSE a.error END AS error FROM (SELECT DISTINCT * FROM unnest($1::bigint[], $2::bigint[]) x(task, n)
        WHERE ${few('task')}) x
      LEFT JOIN ${s}.attempt a ON a.task = x.task AND a.attempt = x.n
      LEFT JOIN ${s}.task t ON t.id = x.task AND t.attempt = x.n
      LEFT JOIN LATERAL (SELECT holder, reason, CASE WHEN state = 5 AND flags & 8 = 0 THEN result END AS error
        FROM ${s}.done WHERE id = x.task AND attempt = x.n LIMIT 1) h ON true
      JOIN ${s}.worker w ON w.id = coalesce(a.holder, t.holder, h.holder)`,
    held: `SELECT id, attempt, holder, created_at FROM ${s}.task WHERE state = 1 ORDER BY id`,
    heldBy: `SELECT id, attempt, holder, created_at FROM ${s}.task WHERE state = 1 AND holder = ANY($1::bigint[]) ORDER BY id`,
    cancels: `SELECT id, attempt FROM ${s}.task WHERE holder = $1 AND state = 1 AND cancel_at IS NOT NULL ORDER BY id`,

    // Fenced like a settle. The row of the task is locked until the lines are in.
    logAdd: `WITH t AS MATERIALIZED (SELECT t.id, x.n FROM (SELECT DISTINCT * FROM unnest($1::bigint[], $2::bigint[]) x(task, n) WHERE ${few('task')}) x
        JOIN ${s}.task t ON t.id = x.task AND t.attempt = x.n WHERE t.state + 0 = 1 ORDER BY t.id FOR NO KEY UPDATE OF t),
      i AS (INSERT INTO ${s}.log (task, attempt, seq, at, stream, data)
        SELECT l.task, l.n, l.seq, l.at, l.stream, l.data
        FROM unnest($3::bigint[], $4::bigint[], $5::int[], $6::bigint[], $7::smallint[], $8::text[]) l(task, n, seq, at, stream, data)
        JOIN t ON t.id = l.task AND t.n = l.n ORDER BY 1, 2, 3 ON CONFLICT DO NOTHING)
      SELECT id, n FROM t`,
    logSize: `SELECT count(*)::int AS entries, coalesce(sum(octet_length(data)), 0)::bigint AS bytes FROM ${s}.log
      WHERE task = $1 AND attempt = $2`,
    logRead: `SELECT attempt, seq, at, stream, data FROM ${s}.log WHERE task = $1 AND (attempt, seq) > ($2, $3)
      ORDER BY attempt, seq LIMIT $4`,
  } as const;
}
