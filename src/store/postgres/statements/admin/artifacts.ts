import { ARTIFACT } from '../../../rows/artifact-rows.ts';
import { type Fragments, few } from '../fragments.ts';

/** States: 0 begun, 1 whole, 2 removed, 3 given up. */
export function artifactStatements({ s, NOW }: Fragments) {
  const PAGE = 'AND n < $1 AND ($2::text IS NULL OR name = $2) ORDER BY n DESC LIMIT $3';
  const ROOM = 'RETURNING root, task, size, state';
  return {
    /** Taken before any row of a task, so that no two that change artifacts wait for each other in a circle. */
    artifactLock: `INSERT INTO ${s}.artifact_room AS r (root, task, entries, bytes) VALUES (0, 0, 0, 0)
      ON CONFLICT (root, task) DO UPDATE SET entries = r.entries RETURNING entries, bytes`,
    /** The row stays locked: the attempt runs until the commit. */
    artifactFence: `SELECT coalesce(root, id) AS root FROM ${s}.task WHERE id = $1 AND attempt = $2 AND state + 0 = 1 FOR NO KEY UPDATE`,
    artifactLook: `SELECT n, task, attempt, state, name, blob FROM ${s}.artifact WHERE id = $1`,
    artifactShared: `SELECT blob FROM ${s}.artifact WHERE sha256 = $1 AND size = $2 AND NOT own AND state < 2 LIMIT 1`,
    artifactAdd: `INSERT INTO ${s}.artifact (id, task, root, attempt, state, name, type, kind, size, sha256, own, blob, created_at)
      VALUES ($1, $2, $3, $4, 0, $5, $6, $7, $8, $9, $10, $11, ${NOW})`,
    artifactGiveUp: `UPDATE ${s}.artifact SET state = 3 WHERE task = $1 AND attempt < $2 AND state = 0 ${ROOM}`,
    artifactReplace: `UPDATE ${s}.artifact SET state = 2 WHERE task = $1 AND name = $2 AND state = 1 ${ROOM}`,
    artifactWhole: `UPDATE ${s}.artifact SET state = 1 WHERE n = $1 AND state + 0 = 0`,
    artifactGet: `SELECT ${ARTIFACT} FROM ${s}.artifact WHERE id = ANY($1::text[]) AND state + 0 = 1`,
    artifactPending: `SELECT ${ARTIFACT} FROM ${s}.artifact WHERE id = $1 AND state + 0 = 0`,
    artifactNamed: `SELECT ${ARTIFACT} FROM ${s}.artifact WHERE task = $1 AND name = $2 AND state = 1`,
    artifactsAll: `SELECT ${ARTIFACT} FROM ${s}.artifact WHERE state + 0 = 1 ${PAGE}`,
    artifactsOfTree: `SELECT ${ARTIFACT} FROM ${s}.artifact WHERE root = $4 AND state < 2 AND state = 1 ${PAGE}`,
    artifactsOfTasks: `SELECT ${ARTIFACT} FROM ${s}.artifact WHERE task = ANY($5::bigint[]) AND state = 1
      AND ($4::bigint IS NULL OR root = $4) AND n + 0 < $1 AND ($2::text IS NULL OR name = $2) ORDER BY n + 0 DESC LIMIT $3`,
    artifactRemove: `UPDATE ${s}.artifact SET state = 2 WHERE id = ANY($1::text[]) AND state + 0 = 1 ${ROOM}`,

    // The sweep.
    artifactStale: `UPDATE ${s}.artifact SET state = 3 WHERE state + 0 = 0 AND n = ANY(ARRAY(SELECT n FROM ${s}.artifact a WHERE a.state = 0
        AND (a.created_at < ${NOW} - $1::bigint OR (SELECT t.id FROM ${s}.task t WHERE t.id = a.task AND t.attempt = a.attempt
          AND t.state + 0 = 1) IS NULL) LIMIT $2)) ${ROOM}`,
    artifactRoots: `SELECT root FROM ${s}.artifact_room WHERE root > $1 GROUP BY root ORDER BY root LIMIT $2`,
    /** The roots among these whose trees are over: nothing of them is unfinished or too young, or nothing is kept. */
    artifactTreesOver: `SELECT r.id FROM unnest($1::bigint[]) r(id)
      WHERE NOT EXISTS (SELECT FROM ${s}.task t WHERE t.id = r.id AND ${few('r.id')})
        AND (SELECT 1 FROM ${s}.task t WHERE t.root IS NOT NULL AND t.root >= r.id AND t.root <= r.id LIMIT 1) IS NULL
        AND (SELECT 1 FROM ${s}.done d WHERE d.id = r.id AND d.ended_at >= ${NOW} - $2::bigint LIMIT 1) IS NULL
        AND (SELECT 1 FROM ${s}.done d WHERE d.root IS NOT NULL AND d.root >= r.id AND d.root <= r.id
          AND d.ended_at >= ${NOW} - $2::bigint LIMIT 1) IS NULL
      ORDER BY r.id`,
    artifactExpire: `UPDATE ${s}.artifact SET state = CASE state WHEN 1 THEN 2 ELSE 3 END WHERE n = ANY(ARRAY(
        SELECT n FROM ${s}.artifact WHERE root = $1 AND state < 2 ORDER BY n LIMIT $2)) ${ROOM}`,
    artifactGone: `SELECT g.id, g.blob, (SELECT 1 FROM ${s}.artifact u WHERE u.blob = g.blob AND u.state < 2 LIMIT 1) IS NOT NULL AS used
      FROM ${s}.artifact g WHERE g.state = $1 AND g.state > 1 AND g.created_at < ${NOW} - $2::bigint ORDER BY g.n LIMIT $3`,
    artifactSwept: `DELETE FROM ${s}.artifact WHERE id = ANY($1::text[]) AND state + 0 > 1 ${ROOM}`,

    artifactRoom: `SELECT entries, bytes FROM ${s}.artifact_room WHERE root = $1 AND task = $2`,
    artifactTake: `INSERT INTO ${s}.artifact_room AS r (root, task, entries, bytes) VALUES ($1, $2, $3, $4)
      ON CONFLICT (root, task) DO UPDATE SET entries = r.entries + excluded.entries, bytes = r.bytes + excluded.bytes`,
    artifactFree: `UPDATE ${s}.artifact_room SET entries = entries - $3, bytes = bytes - $4 WHERE root = $1 AND task = $2`,
    artifactEmpty: `DELETE FROM ${s}.artifact_room WHERE root = $1 AND task = $2 AND entries <= 0`,
  } as const;
}
