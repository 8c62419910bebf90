import { RUN } from '../../rows/run-rows.ts';

const COLUMNS = `t.id, ${RUN}, t.created_at, q.name AS queue, l.handler, t.state, t.reason, t.attempt, t.started_at, t.ended_at,
  t.cancel_at, t.parent, t.root`;
const LANE = 'CROSS JOIN lane l ON l.id = t.lane CROSS JOIN queue q ON q.id = l.queue';

/** The row of a run has no state: it is joined with that of its task. */
export const RUN_STATEMENTS = {
  definitionPut: `INSERT INTO definition (used_at, hash, kind, body) VALUES (?, ?, ?, ?)
    ON CONFLICT (hash) DO UPDATE SET used_at = max(used_at, excluded.used_at)`,
  definitionGet: 'SELECT hash, kind, body, used_at FROM definition WHERE hash = ?',
  definitionUsed: 'SELECT used_at FROM definition WHERE hash = ?',
  definitionUse: 'UPDATE definition SET used_at = ? WHERE hash = ?',
  runAdd: `INSERT INTO run (task, created_at, name, kind, title, fingerprint, definition, forked_from, labels)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  runGet: `SELECT ${COLUMNS} FROM task t ${LANE} LEFT JOIN run r ON r.task = t.id WHERE t.id = ?`,
  runFind: `SELECT ${COLUMNS} FROM run r CROSS JOIN task t ON t.id = r.task ${LANE} WHERE r.name = ?`,
  // The name of a task that an older program has pruned.
  runFree: 'DELETE FROM run WHERE name = ? AND NOT EXISTS (SELECT 1 FROM task t WHERE t.id = run.task)',
  // ?6 has a bit for each state.
  runList: `SELECT ${COLUMNS} FROM (SELECT * FROM run WHERE task < ?1 ORDER BY task DESC LIMIT ?2) r
    CROSS JOIN task t ON t.id = r.task ${LANE}
    WHERE (?3 IS NULL OR r.kind = ?3) AND (?4 IS NULL OR substr(r.name, 1, length(?4)) = ?4) AND (?5 IS NULL OR r.title = ?5)
      AND (?6 IS NULL OR ?6 >> t.state & 1) ORDER BY r.task DESC LIMIT ?7`,
  runLooked: `SELECT min(task) AS last, count(*) AS n FROM (SELECT task FROM run WHERE task < ? ORDER BY task DESC LIMIT ?)`,
  runNote: `INSERT INTO run (task, kind, title, fingerprint, created_at, cancel_at, cancel_why, cancel_by)
    VALUES (?, ?, ?, '', ?, ?, ?, ?) ON CONFLICT (task) DO UPDATE SET cancel_at = excluded.cancel_at,
      cancel_why = excluded.cancel_why, cancel_by = excluded.cancel_by WHERE cancel_at IS NULL`,
  runUnnote:
    'UPDATE run SET cancel_at = NULL, cancel_why = NULL, cancel_by = NULL WHERE task = ? AND cancel_at IS NOT NULL',
  pruneRun: 'DELETE FROM run WHERE task = ?',
  pruneDefinitions: `DELETE FROM definition WHERE id IN (SELECT id FROM definition d WHERE used_at < ?
    AND NOT EXISTS (SELECT 1 FROM run r WHERE r.definition = d.hash)
    AND NOT EXISTS (SELECT 1 FROM workflow_version v WHERE v.definition = d.hash) LIMIT ?)`,
} as const;
