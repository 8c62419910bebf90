import { few, type Words } from './words.ts';

/** Statements of turns and journals. */
export function turnStatements({ s, NOW, tell, where, end, give }: Words) {
  const entry = `x.task, x.key, x.kind, x.n, ${NOW}, x.began, x.ref, x.usage, x.value`;
  const journal = `INSERT INTO ${s}.journal (task, key, kind, attempt, at, began, ref, usage, value)`;
  const lines = `INSERT INTO ${s}.log (task, attempt, seq, at, stream, data)`;

  /** What the turns remember, and their lines, of the tasks of `from`, whose attempts are `n`; the parameters begin there. */
  const said = (from: string, first: number): string => {
    const types = 'bigint text smallint text bigint text bigint int bigint smallint text'.split(' ');
    const [task, key, kind, value, began, usage, ...line] = types.map((type, i) => `$${first + i}::${type}[]`);
    return `j AS (${journal} SELECT x.task, x.key, x.kind, t.attempt, ${NOW}, x.began, NULL, x.usage, x.value
        FROM unnest(${[task, key, kind, value, began, usage].join(', ')}) x(task, key, kind, value, began, usage)
        JOIN ${from} t ON t.id = x.task ORDER BY x.task, x.key ON CONFLICT DO NOTHING RETURNING 1),
      l AS (${lines} SELECT x.task, t.attempt, x.seq, x.at, x.stream, x.data
        FROM unnest(${line.join(', ')}) x(task, seq, at, stream, data)
        JOIN ${from} t ON t.id = x.task ORDER BY x.task, x.seq ON CONFLICT DO NOTHING)`;
  };

  return {
    /** Turns that remember and write lines, and go on. Fenced like a settle; the rows are held until all is in. */
    turnPlain: `WITH t AS MATERIALIZED (SELECT t.id, t.attempt, t.cancel_at IS NOT NULL AS asked
        FROM (SELECT * FROM unnest($1::bigint[], $2::bigint[]) x(task, n) WHERE ${few('task')}) x
        JOIN ${s}.task t ON t.id = x.task AND t.attempt = x.n WHERE t.state + 0 = 1 ORDER BY t.id FOR NO KEY UPDATE OF t),
      ${said('t', 3)}
      SELECT t.id, t.asked, (SELECT count(*) FROM j) AS stored FROM t`,
    /** Turns that end their tasks, as a settle does: those that something waits for are left. */
    turnEnd: `WITH d AS (SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::smallint[], $4::smallint[], $5::text[], $6::boolean[])
        d(task, n, ends, reason, result, apart) WHERE ${few('task')}),
      x AS (DELETE FROM ${s}.task t USING d WHERE t.id = d.task AND t.attempt = d.n AND t.state + 0 = 1 AND t.flags & 1 = 0
        RETURNING t.*, d.ends, d.reason, d.result, d.apart),
      ${said('x', 7)},
      h AS (${end('x', 'ends', 'reason', '(flags & ~16) | CASE WHEN apart THEN 8 ELSE 0 END', 'CASE WHEN NOT apart THEN result END')}),
      b AS (INSERT INTO ${s}.body (task, part, data) SELECT id, 1, result FROM x WHERE apart
        ON CONFLICT (task, part) DO UPDATE SET data = excluded.data),
      ${give('x')},
      e AS (${tell('x', 'ends - 2', 'ends', { running: '-count(*)', completed: where('ends', 4), failed: where('ends', 5), cancelled: where('ends', 6) }, 'queue, ends')})
      SELECT id, cancel_at IS NOT NULL AS asked, (SELECT count(*) FROM j) AS stored FROM x`,
    /** It stays as it is until the commit. */
    turnLook: `SELECT lane, cancel_at IS NOT NULL AS asked, root, flags FROM ${s}.task
      WHERE id = $1 AND attempt = $2 AND state + 0 = 1 FOR UPDATE`,
    /** In a statement of its own, after the lock: what the task's last wait was is the newest then. */
    turnWait: `SELECT key, turn, state, body FROM ${s}.wait WHERE task = $1 AND gen = $2`,
    /** Under the lock of the task, by which all of them are written: nobody else has one of these keys. */
    journalAdd: `${journal} SELECT ${entry}
      FROM unnest($1::bigint[], $2::text[], $3::smallint[], $4::bigint[], $5::text[], $6::bigint[], $7::bigint[], $8::text[])
        x(task, key, kind, n, value, began, ref, usage)`,
    journalFind: `SELECT j.task, j.key, j.kind, j.attempt, j.ref, j.value FROM unnest($1::bigint[], $2::text[]) x(task, key)
      JOIN ${s}.journal j ON j.task = x.task AND j.key = x.key WHERE ${few('x.task')}`,
    journalList: `SELECT key, kind, attempt, at, value, ref, began, usage FROM ${s}.journal WHERE task = $1`,
    journalForget: `DELETE FROM ${s}.journal j USING unnest($1::bigint[], $2::text[]) x(task, key)
      WHERE j.task = x.task AND j.key = x.key AND ${few('x.task')}`,
  } as const;
}
