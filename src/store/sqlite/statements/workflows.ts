const RECORD = `SELECT w.name, w.version, w.revision, w.enabled, w.created_at, w.changed_at, v.definition, v.at, v.author, v.restored
  FROM workflow w CROSS JOIN workflow_version v ON v.workflow = w.name AND v.version = w.version`;
const SAME = 'trigger_def.cron = excluded.cron AND trigger_def.timezone = excluded.timezone';

export const WORKFLOW_STATEMENTS = {
  workflowGet: `${RECORD} WHERE w.name = ?`,
  workflowList: `${RECORD} WHERE w.name > ? ORDER BY w.name LIMIT ?`,
  workflowVersions: `SELECT version, definition, at, author, restored FROM workflow_version WHERE workflow = ? AND version < ?
    ORDER BY version DESC LIMIT ?`,
  workflowStand: 'SELECT version, revision FROM workflow WHERE name = ?',
  workflowSet: `INSERT INTO workflow (name, version, revision, enabled, created_at, changed_at) VALUES (?1, ?2, ?3, ?4, ?5, ?5)
    ON CONFLICT (name) DO UPDATE SET version = excluded.version, revision = excluded.revision, enabled = excluded.enabled,
      changed_at = excluded.changed_at`,
  workflowVersionAdd:
    'INSERT INTO workflow_version (workflow, version, definition, at, author, restored) VALUES (?, ?, ?, ?, ?, ?)',
  definitionKeep: `INSERT INTO definition (used_at, hash, kind, body) VALUES (?, ?, ?, ?)
    ON CONFLICT (hash) DO UPDATE SET used_at = excluded.used_at`,
  // One that no other workflow names may go when no run names it either.
  definitionsFree: `UPDATE definition SET used_at = ?1 WHERE hash IN (SELECT definition FROM workflow_version WHERE workflow = ?2)
    AND NOT EXISTS (SELECT 1 FROM workflow_version v WHERE v.definition = definition.hash AND v.workflow <> ?2)`,
  workflowVersionsDrop: 'DELETE FROM workflow_version WHERE workflow = ?',
  workflowDrop: 'DELETE FROM workflow WHERE name = ?',
  triggerOwner: 'SELECT workflow FROM trigger_def WHERE name = ?',
  triggersOwned: 'SELECT name FROM trigger_def WHERE workflow = ?',
  triggerDrop: 'DELETE FROM trigger_def WHERE name = ?',
  // ?10 is its first fire time, ?11 past every clock, ?12 whether its workflow is on. One with the same times keeps its place.
  triggerOwn: `INSERT INTO trigger_def (name, lane, spec, cron, timezone, missed, prio, max_tries, payload, next_at, held_at, workflow, run)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, iif(?12, ?10, ?11), iif(?12, NULL, ?10), ?13, ?14)
    ON CONFLICT (name) DO UPDATE SET lane = excluded.lane, spec = excluded.spec, cron = excluded.cron,
      timezone = excluded.timezone, missed = excluded.missed, prio = excluded.prio, max_tries = excluded.max_tries,
      payload = excluded.payload, workflow = excluded.workflow, run = excluded.run,
      next_at = CASE WHEN NOT ?12 THEN ?11 WHEN ${SAME} THEN iif(held_at IS NULL, next_at, max(held_at, ?10)) ELSE ?10 END,
      held_at = CASE WHEN ?12 THEN NULL WHEN ${SAME} THEN coalesce(held_at, next_at) ELSE ?10 END`,
} as const;
