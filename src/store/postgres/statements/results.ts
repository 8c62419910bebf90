import { type Fragments, few } from './fragments.ts';

/** Statements of results that outlive their tasks. */
export function resultStatements({ s, NOW }: Fragments) {
  const asText = "|| ''";
  return {
    resultKeys: `SELECT task, data FROM ${s}.body WHERE task = ANY($1::bigint[]) AND part = 2`,
    resultFind: `SELECT x.o, r.task, r.attempt, r.born, r.value, r.at
      FROM unnest($1::text[], $2::bigint[]) WITH ORDINALITY x(key, age, o)
      JOIN ${s}.kept_result r ON r.key = x.key
      WHERE ${few('x.key', asText)} AND r.expires_at + 0 > ${NOW} AND r.at > ${NOW} - x.age`,
    /**
     * Fenced like a settle. The first of several for one key is written, unless a result is there that is young enough.
     * It is kept for as long as either would have been.
     */
    resultKeep: `WITH x AS MATERIALIZED (SELECT x.*, t.created_at AS born
        FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::bigint[]) WITH ORDINALITY x(task, n, key, value, age, o)
        JOIN ${s}.task t ON t.id = x.task AND t.attempt = x.n
        WHERE t.state + 0 = 1 AND ${few('x.task')} ORDER BY t.id FOR NO KEY UPDATE OF t),
      i AS (INSERT INTO ${s}.kept_result AS r (key, task, attempt, born, value, at, expires_at)
        SELECT DISTINCT ON (key) key, task, n, born, value, ${NOW}, ${NOW} + age FROM x ORDER BY key, o
        ON CONFLICT (key) DO UPDATE SET task = excluded.task, attempt = excluded.attempt, born = excluded.born,
          value = excluded.value, at = excluded.at, expires_at = greatest(r.expires_at, excluded.expires_at)
        WHERE r.expires_at <= ${NOW} OR r.at <= ${NOW} - (excluded.expires_at - excluded.at) RETURNING 1)
      SELECT o, (SELECT count(*) FROM i) AS stored FROM x`,
    /** The owners of the results that are kept now, in a statement of its own that sees what others have written meanwhile. */
    resultOwners: `SELECT r.key, r.task, r.attempt FROM unnest($1::text[]) x(key)
      JOIN ${s}.kept_result r ON r.key = x.key WHERE ${few('x.key', asText)}`,
    pruneResults: `DELETE FROM ${s}.kept_result WHERE key = ANY(ARRAY(SELECT key FROM ${s}.kept_result
      WHERE expires_at <= ${NOW} LIMIT $1)) AND expires_at + 0 <= ${NOW} RETURNING key`,
  } as const;
}
