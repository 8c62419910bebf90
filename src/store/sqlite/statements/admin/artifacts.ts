import { ARTIFACT } from '../../../rows/artifact-rows.ts';

/** States: 0 begun, 1 whole, 2 removed, 3 given up. */
export const ARTIFACT_STATEMENTS = {
  artifactFence: 'SELECT coalesce(root, id) AS root FROM task WHERE id = ? AND attempt = ? AND state = 1',
  artifactLook: 'SELECT n, task, attempt, state, name, blob FROM artifact WHERE id = ?',
  artifactShared: 'SELECT blob FROM artifact WHERE sha256 = ? AND size = ? AND own = 0 AND state < 2 LIMIT 1',
  artifactAdd: `INSERT INTO artifact (id, task, root, attempt, state, name, type, kind, size, sha256, own, blob, created_at)
    VALUES (?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?)`,
  artifactGiveUp:
    'UPDATE artifact SET state = 3 WHERE task = ? AND attempt < ? AND state = 0 RETURNING root, task, size, state',
  artifactReplace:
    'UPDATE artifact SET state = 2 WHERE task = ? AND name = ? AND state = 1 RETURNING root, task, size, state',
  artifactWhole: 'UPDATE artifact SET state = 1 WHERE n = ? AND state = 0',
  artifactGet: `SELECT ${ARTIFACT} FROM artifact WHERE id IN (SELECT value FROM json_each(?)) AND state = 1`,
  artifactPending: `SELECT ${ARTIFACT} FROM artifact WHERE id = ? AND state = 0`,
  artifactNamed: `SELECT ${ARTIFACT} FROM artifact WHERE task = ? AND name = ? AND state = 1`,
  artifactsAll: `SELECT ${ARTIFACT} FROM artifact NOT INDEXED WHERE state = 1 AND n < ?1 AND (?2 IS NULL OR name = ?2) ORDER BY n DESC LIMIT ?3`,
  artifactsOfTree: `SELECT ${ARTIFACT} FROM artifact INDEXED BY artifact_root
    WHERE root = ?4 AND state < 2 AND state = 1 AND n < ?1 AND (?2 IS NULL OR name = ?2) ORDER BY n DESC LIMIT ?3`,
  artifactsOfTasks: `SELECT ${ARTIFACT} FROM artifact INDEXED BY artifact_name WHERE task IN (SELECT value FROM json_each(?5))
    AND (?4 IS NULL OR root = ?4) AND state = 1 AND n < ?1 AND (?2 IS NULL OR name = ?2) ORDER BY n DESC LIMIT ?3`,
  artifactRemove: `UPDATE artifact SET state = 2 WHERE id IN (SELECT value FROM json_each(?)) AND state = 1
    RETURNING root, task, size, state`,

  // The sweep.
  artifactStale: `UPDATE artifact SET state = 3 WHERE n IN (SELECT n FROM artifact a INDEXED BY artifact_begun WHERE state = 0
      AND (created_at < ?1 OR NOT EXISTS (SELECT 1 FROM task t WHERE t.id = a.task AND t.attempt = a.attempt AND t.state = 1))
      LIMIT ?2) RETURNING root, task, size, state`,
  artifactRoots: 'SELECT DISTINCT root FROM artifact_room WHERE root > ? ORDER BY root LIMIT ?',
  artifactTreeOpen: `SELECT 1 WHERE EXISTS (SELECT 1 FROM task WHERE id = ?1 AND (state < 4 OR ended_at >= ?2))
    OR EXISTS (SELECT 1 FROM task INDEXED BY task_root WHERE root = ?1 AND (state < 4 OR ended_at >= ?2))`,
  artifactExpire: `UPDATE artifact SET state = CASE state WHEN 1 THEN 2 ELSE 3 END WHERE n IN
      (SELECT n FROM artifact INDEXED BY artifact_root WHERE root = ? AND state < 2 ORDER BY n LIMIT ?) RETURNING root, task, size, state`,
  artifactGone: `SELECT id, blob, EXISTS (SELECT 1 FROM artifact u WHERE u.blob = g.blob AND u.state < 2) AS used
    FROM artifact g INDEXED BY artifact_gone WHERE state = ? AND state > 1 AND created_at < ? ORDER BY n LIMIT ?`,
  artifactSwept:
    'DELETE FROM artifact WHERE id IN (SELECT value FROM json_each(?)) AND state > 1 RETURNING root, task, size, state',

  artifactRoom: 'SELECT entries, bytes FROM artifact_room WHERE root = ? AND task = ?',
  artifactTake: `INSERT INTO artifact_room (root, task, entries, bytes) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT DO UPDATE SET entries = entries + ?3, bytes = bytes + ?4`,
  artifactFree: 'UPDATE artifact_room SET entries = entries - ?3, bytes = bytes - ?4 WHERE root = ?1 AND task = ?2',
  artifactEmpty: 'DELETE FROM artifact_room WHERE root = ? AND task = ? AND entries <= 0',
} as const;
