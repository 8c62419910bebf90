import { type Fragments } from './fragments.ts';

/** Statements of stored workflows. */
export function workflowStatements({ s, NOW }: Fragments) {
  const record = `SELECT w.name, w.version, w.revision, w.enabled, w.created_at, w.changed_at, v.definition, v.at, v.author, v.restored
    FROM ${s}.workflow w JOIN ${s}.workflow_version v ON v.workflow = w.name AND v.version = w.version`;
  const same = 'd.cron = excluded.cron AND d.timezone = excluded.timezone';
  return {
    workflowGet: `${record} WHERE w.name = $1`,
    workflowList: `${record} WHERE w.name > $1 ORDER BY w.name LIMIT $2`,
    workflowVersions: `SELECT version, definition, at, author, restored FROM ${s}.workflow_version
      WHERE workflow = $1 AND version < $2 ORDER BY version DESC LIMIT $3`,
    /** A new one is locked by its insert. */
    workflowMake: `INSERT INTO ${s}.workflow (name, version, revision, enabled, created_at, changed_at)
      VALUES ($1, 0, 0, 0, ${NOW}, ${NOW}) ON CONFLICT (name) DO NOTHING RETURNING name`,
    workflowHold: `SELECT version, revision, ${NOW} AS now FROM ${s}.workflow WHERE name = $1 FOR UPDATE`,
    workflowSet: `UPDATE ${s}.workflow SET version = $2, revision = $3, enabled = $4, changed_at = $5 WHERE name = $1`,
    workflowVersionAdd: `INSERT INTO ${s}.workflow_version (workflow, version, definition, at, author, restored)
      VALUES ($1, $2, $3, $4, $5, $6)`,
    definitionKeep: `INSERT INTO ${s}.definition (used_at, hash, kind, body) VALUES ($1, $2, $3, $4)
      ON CONFLICT (hash) DO UPDATE SET used_at = excluded.used_at`,
    /** One that no other workflow names may go when no run names it either. */
    definitionsFree: `UPDATE ${s}.definition d SET used_at = ${NOW}
      WHERE hash IN (SELECT definition FROM ${s}.workflow_version WHERE workflow = $1)
        AND NOT EXISTS (SELECT 1 FROM ${s}.workflow_version v WHERE v.definition = d.hash AND v.workflow <> $1)`,
    workflowVersionsDrop: `DELETE FROM ${s}.workflow_version WHERE workflow = $1`,
    workflowDrop: `DELETE FROM ${s}.workflow WHERE name = $1`,
    triggersDisown: `DELETE FROM ${s}.trigger_def WHERE workflow = $1 AND name <> ALL($2::text[]) RETURNING name`,
    /** $10 is its first fire time, $11 past every clock, $12 whether its workflow is on. One with the same times keeps its place. */
    triggerOwn: `INSERT INTO ${s}.trigger_def AS d
        (name, lane, spec, cron, timezone, missed, prio, max_tries, payload, next_at, held_at, workflow, run)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, CASE WHEN $12::boolean THEN $10::bigint ELSE $11::bigint END,
        CASE WHEN $12::boolean THEN NULL ELSE $10::bigint END, $13, $14)
      ON CONFLICT (name) DO UPDATE SET lane = excluded.lane, spec = excluded.spec, cron = excluded.cron,
        timezone = excluded.timezone, missed = excluded.missed, prio = excluded.prio, max_tries = excluded.max_tries,
        payload = excluded.payload, run = excluded.run,
        next_at = CASE WHEN NOT $12::boolean THEN $11::bigint
          WHEN ${same} THEN CASE WHEN d.held_at IS NULL THEN d.next_at ELSE greatest(d.held_at, $10::bigint) END
          ELSE $10::bigint END,
        held_at = CASE WHEN $12::boolean THEN NULL WHEN ${same} THEN coalesce(d.held_at, d.next_at) ELSE $10::bigint END
      WHERE d.workflow = excluded.workflow RETURNING name`,
  } as const;
}
