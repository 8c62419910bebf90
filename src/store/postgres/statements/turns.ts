import { few, type Words } from './words.ts';

/** Statements of turns and journals. */
export function turnStatements({ s, NOW }: Words) {
  const entry = `x.task, x.key, x.kind, x.n, ${NOW}, x.began, x.ref, x.usage, x.value`;
  const journal = `INSERT INTO ${s}.journal (task, key, kind, attempt, at, began, ref, usage, value)`;
  const lines = `INSERT INTO ${s}.log (task, attempt, seq, at, stream, data)`;

  return {
    /** Turns that remember and write lines, and go on. Fenced like a settle; the rows are held until all is in. */
    turnPlain: `WITH t AS MATERIALIZED (SELECT t.id, t.attempt, t.cancel_at IS NOT NULL AS asked
        FROM (SELECT * FROM unnest($1::bigint[], $2::bigint[]) x(task, n) WHERE ${few('task')}) x
        JOIN ${s}.task t ON t.id = x.task AND t.attempt = x.n WHERE t.state + 0 = 1 ORDER BY t.id FOR NO KEY UPDATE OF t),
      j AS (${journal} SELECT x.task, x.key, x.kind, t.attempt, ${NOW}, x.began, NULL, x.usage, x.value
        FROM unnest($3::bigint[], $4::text[], $5::smallint[], $6::text[], $7::bigint[], $8::text[])
          x(task, key, kind, value, began, usage)
        JOIN t ON t.id = x.task ORDER BY x.task, x.key ON CONFLICT DO NOTHING RETURNING 1),
      l AS (${lines} SELECT x.task, t.attempt, x.seq, x.at, x.stream, x.data
        FROM unnest($9::bigint[], $10::int[], $11::bigint[], $12::smallint[], $13::text[]) x(task, seq, at, stream, data)
        JOIN t ON t.id = x.task ORDER BY x.task, x.seq ON CONFLICT DO NOTHING)
      SELECT t.id, t.asked, (SELECT count(*) FROM j) AS stored FROM t`,
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
