import { type Fragments } from './fragments.ts';

/** Statements of triggers that are no schedules. */
export function reactionStatements({ s, NOW }: Fragments) {
  const view = `SELECT r.*, l.n, l.at, l.outcome, l.task, l.about, l.detail FROM ${s}.reaction r
    LEFT JOIN ${s}.reaction_line l ON l.name = r.name AND l.n = r.lines`;
  return {
    /** $5: the cursor of a new one; null leaves it. */
    reactionPut: `INSERT INTO ${s}.reaction AS r (name, kind, body, enabled, revision, cursor, lines, created_at, changed_at)
      VALUES ($1, $2, $3, $4, ${NOW}, coalesce($5::bigint, 0), 0, ${NOW}, ${NOW})
      ON CONFLICT (name) DO UPDATE SET kind = excluded.kind, body = excluded.body, changed_at = excluded.changed_at,
        revision = greatest(excluded.revision, r.revision + 1), cursor = coalesce($5::bigint, r.cursor) RETURNING revision`,
    reactionFind: `${view} WHERE r.name = $1`,
    reactionList: `${view} WHERE $1::text IS NULL OR r.kind = $1::text ORDER BY r.name`,
    reactionDrop: `DELETE FROM ${s}.reaction WHERE name = $1 RETURNING name`,
    reactionLinesDrop: `DELETE FROM ${s}.reaction_line WHERE name = $1 AND n <= $2`,
    reactionKeysDrop: `DELETE FROM ${s}.reaction_key WHERE name = $1`,
    reactionEnable: `UPDATE ${s}.reaction SET enabled = $2, changed_at = ${NOW}, revision = greatest(${NOW}, revision + 1),
      cursor = CASE WHEN $2::smallint = 1 THEN $3::bigint ELSE cursor END WHERE name = $1 AND enabled <> $2::smallint RETURNING name`,
    reactionKnown: `SELECT name FROM ${s}.reaction WHERE name = $1`,
    /** Whoever fires it too waits, and then sees the keys. */
    reactionHold: `SELECT revision, enabled, cursor, ${NOW} AS now FROM ${s}.reaction WHERE name = $1 FOR UPDATE`,
    reactionMove: `UPDATE ${s}.reaction SET cursor = $1 WHERE name = $2`,
    reactionCount: `UPDATE ${s}.reaction SET lines = lines + $1 WHERE name = $2 RETURNING lines`,
    reactionLineAdd: `INSERT INTO ${s}.reaction_line (name, n, at, outcome, task, about, detail)
      SELECT $1, $2::bigint + x.i, $3, x.outcome, x.task, x.about, x.detail
      FROM unnest($4::smallint[], $5::bigint[], $6::text[], $7::text[]) WITH ORDINALITY x(outcome, task, about, detail, i)`,
    reactionNote: `UPDATE ${s}.reaction_line SET outcome = $1, detail = $2 WHERE name = $3 AND n = $4`,
    reactionLines: `SELECT n, at, outcome, task, about, detail FROM ${s}.reaction_line WHERE name = $1 AND n < $2
      ORDER BY n DESC LIMIT $3`,
    reactionKeyFind: `SELECT key, version, until, n, task, born FROM ${s}.reaction_key WHERE name = $1 AND key = ANY($2::text[])`,
    reactionKeyPut: `INSERT INTO ${s}.reaction_key (name, key, version, until, n, task, born, links)
      SELECT $1, x.* FROM unnest($2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::smallint[]) x
      ON CONFLICT (name, key) DO UPDATE SET version = excluded.version, until = excluded.until, n = excluded.n,
        task = excluded.task, born = excluded.born, links = excluded.links`,
    reactionKeyDrop: `DELETE FROM ${s}.reaction_key WHERE name = $1 AND key = ANY($2::text[])`,
    reactionKeysExpire: `DELETE FROM ${s}.reaction_key WHERE name = $1 AND key = ANY(ARRAY(SELECT key FROM ${s}.reaction_key
      WHERE name = $1 AND until <= $2 ORDER BY until LIMIT $3))`,
    reactionKeys: `SELECT key, version FROM ${s}.reaction_key WHERE name = $1 AND key > $3 AND key >= $2 AND starts_with(key, $2)
      ORDER BY key LIMIT $4`,
    reactionLinks: `SELECT task, max(links) AS links FROM ${s}.reaction_key WHERE task = ANY($1::bigint[]) GROUP BY task`,
    workerLosses: `SELECT n, worker, name, host, at FROM ${s}.worker_loss WHERE n > $1 ORDER BY n LIMIT $2`,
    workerLossEnds: `SELECT (SELECT min(n) FROM ${s}.worker_loss) AS oldest, (SELECT max(n) FROM ${s}.worker_loss) AS newest`,
    workerLossDrop: `DELETE FROM ${s}.worker_loss WHERE n <= (SELECT max(n) FROM ${s}.worker_loss) - $1::bigint`,
  } as const;
}
