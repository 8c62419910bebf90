import { AT_TIME, TREE } from '../../codes.ts';
import { HEAD_LENGTH, MOST_WITH_HEAD } from '../../port/turn-store.ts';
import { type Fragments, few } from './fragments.ts';

/** Statements of turns and journals. */
export function turnStatements({ s, NOW, tell, where, end, give }: Fragments) {
  const entry = `x.task, x.key, x.kind, x.n, ${NOW}, x.began, x.ref, x.usage, x.value`;
  const journal = `INSERT INTO ${s}.journal (task, key, kind, attempt, at, began, ref, usage, value)`;
  const lines = `INSERT INTO ${s}.log (task, attempt, seq, at, stream, data)`;

  const arrays = (first: number, types: string): string =>
    types
      .split(' ')
      .map((type, i) => `$${first + i}::${type}[]`)
      .join(', ');
  /** The journal values of the turns of the tasks in `from`. The parameters begin at `first`. */
  const values = (
    from: string,
    first: number,
  ): string => `SELECT x.task, x.key, x.kind, t.attempt, ${NOW}, x.began, NULL::bigint, x.usage, x.value
        FROM unnest(${arrays(first, 'bigint text smallint text bigint text')}) x(task, key, kind, value, began, usage)
        JOIN ${from} t ON t.id = x.task`;
  const wrote = (
    from: string,
    first: number,
  ): string => `l AS (${lines} SELECT x.task, t.attempt, x.seq, x.at, x.stream, x.data
        FROM unnest(${arrays(first, 'bigint int bigint smallint text')}) x(task, seq, at, stream, data)
        JOIN ${from} t ON t.id = x.task ORDER BY x.task, x.seq ON CONFLICT DO NOTHING)`;
  /** The values, and the log lines. */
  const said = (from: string, first: number): string =>
    `j AS (${journal} ${values(from, first)} ORDER BY 1, 2 ON CONFLICT DO NOTHING RETURNING 1),
      ${wrote(from, first + 6)}`;

  return {
    /** Turns with values and log lines that go on. Fenced like a settle; the rows are locked until all is in. */
    turnPlain: `WITH t AS MATERIALIZED (SELECT t.id, t.attempt, t.cancel_at IS NOT NULL AS asked
        FROM (SELECT * FROM unnest($1::bigint[], $2::bigint[]) x(task, n) WHERE ${few('task')}) x
        JOIN ${s}.task t ON t.id = x.task AND t.attempt = x.n WHERE t.state + 0 = 1 ORDER BY t.id FOR NO KEY UPDATE OF t),
      ${said('t', 3)}
      SELECT t.id, t.asked, (SELECT count(*) FROM j) AS stored FROM t`,
    /**
     * Turns with children besides, of a kind that nothing can refuse. Ids are drawn first. An entry that exists keeps
     * its own child, and tasks are made for the others. Turns that were asked to stop are left.
     */
    turnFan: `WITH t AS MATERIALIZED (SELECT t.id, t.attempt, t.root, t.flags
        FROM (SELECT * FROM unnest($1::bigint[], $2::bigint[]) x(task, n) WHERE ${few('task')}) x
        JOIN ${s}.task t ON t.id = x.task AND t.attempt = x.n WHERE t.state + 0 = 1 AND t.cancel_at IS NULL
        ORDER BY t.id FOR NO KEY UPDATE OF t),
      c AS MATERIALIZED (SELECT nextval('${s}.task_id_seq') AS id, x.*, CASE WHEN x.due > ${NOW} THEN x.due END AS at
        FROM (SELECT x.*, t.attempt, coalesce(t.root, t.id) AS root, coalesce(x.run_at, ${NOW} + x.delay) AS due
          FROM unnest(${arrays(14, 'bigint text int int int smallint smallint text boolean bigint bigint bigint text')}) WITH ORDINALITY
            x(parent, key, queue, lane, spec, prio, max_tries, payload, apart, run_at, delay, wait, result_key, o)
          JOIN t ON t.id = x.parent ORDER BY x.o) x),
      j AS (${journal} ${values('t', 3)}
        UNION ALL SELECT parent, key, 4, attempt, ${NOW}, NULL, id, NULL, ${NOW}::text FROM c
        ORDER BY 1, 2 ON CONFLICT DO NOTHING RETURNING ref),
      f AS MATERIALIZED (SELECT c.*, CASE WHEN c.at IS NULL THEN 0 ELSE 2 END AS state FROM c JOIN j ON j.ref = c.id),
      i AS (INSERT INTO ${s}.task (id, created_at, queue, lane, spec, state, prio, max_tries, flags, run_at, expires_at, payload, parent,
          root)
        SELECT id, ${NOW}, queue, lane, spec, state, prio, max_tries,
          CASE WHEN apart THEN 2 ELSE 0 END | CASE WHEN run_at IS NULL THEN 0 ELSE ${AT_TIME} END, at,
          coalesce(at, ${NOW}) + wait, CASE WHEN NOT apart THEN payload END, parent, root FROM f ORDER BY id),
      b AS (INSERT INTO ${s}.body (task, part, data) SELECT id, 0, payload FROM f WHERE apart
        UNION ALL SELECT id, 2, result_key FROM f WHERE result_key IS NOT NULL),
      e AS (INSERT INTO ${s}.outbox (at, queue, kind, state, n, d_ready, d_scheduled, ids, attempts, born)
        SELECT ${NOW}, queue, 0, state, count(*), ${where('state', 0)}, ${where('state', 2)}, array_agg(id ORDER BY id), '{0}',
          ARRAY[min(${NOW})] FROM f GROUP BY queue, state),
      m AS (UPDATE ${s}.task SET flags = flags | ${TREE} WHERE id = ANY(ARRAY(SELECT t.id FROM t WHERE t.root IS NULL
        AND t.flags & ${TREE} = 0 AND t.id IN (SELECT parent FROM f)))),
      ${wrote('t', 9)}
      SELECT t.id, f.key, f.id AS child, ${NOW} AS at, f.state, (SELECT count(*) FROM j) AS stored FROM t LEFT JOIN f ON f.parent = t.id`,
    /** Turns that end their tasks, as a settle does. Tasks that something waits for, and metered ones, are left. */
    turnEnd: `WITH d AS (SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::smallint[], $4::smallint[], $5::text[], $6::boolean[])
        d(task, n, ends, reason, result, apart) WHERE ${few('task')}),
      x AS (DELETE FROM ${s}.task t USING d WHERE t.id = d.task AND t.attempt = d.n AND t.state + 0 = 1 AND t.flags & 257 = 0
        RETURNING t.*, d.ends, d.reason, d.result, d.apart),
      ${said('x', 7)},
      h AS (${end('x', 'ends', 'reason', '(flags & ~16) | CASE WHEN apart THEN 8 ELSE 0 END', 'CASE WHEN NOT apart THEN result END')}),
      b AS (INSERT INTO ${s}.body (task, part, data) SELECT id, 1, result FROM x WHERE apart
        ON CONFLICT (task, part) DO UPDATE SET data = excluded.data),
      ${give('x')},
      e AS (${tell('x', 'ends - 2', 'ends', { running: '-count(*)', completed: where('ends', 4), failed: where('ends', 5), cancelled: where('ends', 6) }, 'queue, ends')})
      SELECT id, cancel_at IS NOT NULL AS asked, (SELECT count(*) FROM j) AS stored FROM x`,
    /** Locks the task until the commit. */
    turnLook: `SELECT lane, cancel_at IS NOT NULL AS asked, root, flags FROM ${s}.task
      WHERE id = $1 AND attempt = $2 AND state + 0 = 1 FOR UPDATE`,
    /** In a statement of its own after the lock, so that it reads the newest wait of the task. */
    turnWait: `SELECT key, turn, state, body FROM ${s}.wait WHERE task = $1 AND gen = $2`,
    /** Under the lock of the task, which all writers of its journal take: no other transaction adds one of these keys. */
    journalAdd: `${journal} SELECT ${entry}
      FROM unnest($1::bigint[], $2::text[], $3::smallint[], $4::bigint[], $5::text[], $6::bigint[], $7::bigint[], $8::text[])
        x(task, key, kind, n, value, began, ref, usage)`,
    journalFind: `SELECT j.task, j.key, j.kind, j.attempt, j.ref, j.value FROM unnest($1::bigint[], $2::text[]) x(task, key)
      JOIN ${s}.journal j ON j.task = x.task AND j.key = x.key WHERE ${few('x.task')}`,
    journalSize: `SELECT count(*)::int AS entries, coalesce(sum(octet_length(key) + coalesce(octet_length(value), 0)
      + coalesce(octet_length(usage), 0)), 0)::bigint AS bytes FROM ${s}.journal WHERE task = $1`,
    journalList: `SELECT key, kind, attempt, at, value, ref, began, usage FROM ${s}.journal WHERE task = $1`,
    /** Each task by the index of its own: an order over all of them would read them whole. */
    journalHeads: `SELECT x.task, j.* FROM unnest($1::bigint[]) WITH ORDINALITY x(task, n) CROSS JOIN LATERAL (
        SELECT key, kind, attempt, at, ref, began, usage, coalesce(octet_length(value), 0) AS size,
          CASE WHEN octet_length(value) <= ${MOST_WITH_HEAD} THEN left(value, ${HEAD_LENGTH}) END AS head
        FROM ${s}.journal WHERE task = x.task AND key > CASE WHEN x.n = 1 THEN $2 ELSE '' END ORDER BY key LIMIT $3
      ) j ORDER BY x.n, j.key LIMIT $3`,
    journalEntries: `SELECT j.key, j.kind, j.attempt, j.at, j.value, j.ref, j.began, j.usage FROM unnest($1::bigint[], $2::text[]) x(task, key)
      JOIN ${s}.journal j ON j.task = x.task AND j.key = x.key WHERE ${few('x.task')}`,
    journalForget: `DELETE FROM ${s}.journal j USING unnest($1::bigint[], $2::text[]) x(task, key)
      WHERE j.task = x.task AND j.key = x.key AND ${few('x.task')}`,
  } as const;
}
