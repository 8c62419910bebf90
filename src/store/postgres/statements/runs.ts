import { RUN } from '../../rows/run-rows.ts';
import { type Fragments } from './fragments.ts';

/** Statements of runs and definitions. The row of a run has no state: it is joined with that of its task. */
export function runStatements({ s, NOW }: Fragments) {
  /** Laterally, so that each run is looked up by its key. */
  const record = (table: 'task' | 'done'): string => `SELECT t.id, ${RUN}, t.created_at,
      (SELECT name FROM ${s}.queue q WHERE q.id = t.queue) AS queue, (SELECT handler FROM ${s}.lane l WHERE l.id = t.lane) AS handler,
      t.state, ${table === 'task' ? '0::smallint' : 't.reason'} AS reason, t.attempt, t.started_at,
      ${table === 'task' ? 'NULL::bigint' : 't.ended_at'} AS ended_at, t.cancel_at, t.parent, t.root
    FROM ${s}.${table} t LEFT JOIN LATERAL (SELECT * FROM ${s}.run WHERE task = t.id OFFSET 0) r ON true
    WHERE t.id = ANY($1::bigint[])`;
  /** No run and no workflow names it. An EXISTS may become a join with all runs. */
  const unnamed = `(SELECT 1 FROM ${s}.run r WHERE r.definition = d.hash LIMIT 1) IS NULL
    AND (SELECT 1 FROM ${s}.workflow_version v WHERE v.definition = d.hash LIMIT 1) IS NULL`;

  return {
    definitionPut: `INSERT INTO ${s}.definition (hash, kind, body, used_at)
      SELECT hash, kind, body, ${NOW} FROM unnest($1::text[], $2::text[], $3::text[]) x(hash, kind, body) ORDER BY hash COLLATE "C"
      ON CONFLICT (hash) DO UPDATE SET used_at = greatest(definition.used_at, excluded.used_at)`,
    definitionGet: `SELECT hash, kind, body, used_at FROM ${s}.definition WHERE hash = $1`,
    definitionAdd: `INSERT INTO ${s}.definition (hash, kind, body, used_at) VALUES ($1, $2, $3, ${NOW}) ON CONFLICT DO NOTHING`,
    /** Until the commit the pruner leaves it alone. Pushes of the same definition do not wait for each other. */
    definitionHold: `SELECT used_at < ${NOW} - $2::bigint AS old FROM ${s}.definition WHERE hash = $1 FOR KEY SHARE`,
    definitionUse: `UPDATE ${s}.definition SET used_at = ${NOW} WHERE hash = $1`,
    runAdd: `INSERT INTO ${s}.run (task, created_at, name, kind, title, fingerprint, definition, forked_from, labels)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (name) DO NOTHING RETURNING task`,
    /** Names in one order, so that two flushes do not wait for each other. */
    runsAdd: `INSERT INTO ${s}.run (task, created_at, name, kind, title, fingerprint, definition, forked_from, labels)
      SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::text[])
        x(task, created_at, name, kind, title, fingerprint, definition, forked_from, labels) ORDER BY name COLLATE "C"
      ON CONFLICT (name) DO NOTHING RETURNING task`,
    runGet: `${record('task')} UNION ALL ${record('done')}`,
    runFind: `SELECT task FROM ${s}.run WHERE name = ANY($1::text[])`,
    /** The name of a task whose day was detached, or that an older program has pruned. */
    runFree: `DELETE FROM ${s}.run WHERE name = $1 AND (SELECT 1 FROM ${s}.task t WHERE t.id = run.task LIMIT 1) IS NULL
      AND (SELECT 1 FROM ${s}.done h WHERE h.id = run.task LIMIT 1) IS NULL`,
    runList: `SELECT task, ($3::text IS NULL OR kind = $3) AND ($4::text IS NULL OR starts_with(name, $4))
        AND ($5::text IS NULL OR title = $5) AS fits
      FROM ${s}.run WHERE task < $1 ORDER BY task DESC LIMIT $2`,
    runNote: `INSERT INTO ${s}.run AS r (task, kind, title, fingerprint, created_at, cancel_at, cancel_why, cancel_by)
      SELECT t.id, $2, (SELECT handler FROM ${s}.lane l WHERE l.id = t.lane), '', t.created_at, ${NOW}, $3, $4
        FROM ${s}.task t WHERE t.id = $1 AND t.root IS NULL
      ON CONFLICT (task) DO UPDATE SET cancel_at = excluded.cancel_at, cancel_why = excluded.cancel_why,
        cancel_by = excluded.cancel_by WHERE r.cancel_at IS NULL RETURNING task`,
    pruneRuns: `DELETE FROM ${s}.run WHERE task = ANY($1::bigint[])`,
    /** A push that holds one is about to name it. */
    definitionsOld: `SELECT hash FROM ${s}.definition d WHERE used_at < $1 AND ${unnamed} LIMIT $2 FOR UPDATE SKIP LOCKED`,
    /** In a statement of its own, which sees the runs that were made before the lock. */
    definitionsDrop: `DELETE FROM ${s}.definition d WHERE hash = ANY($1::text[]) AND ${unnamed} RETURNING hash`,
  } as const;
}
