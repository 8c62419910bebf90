import { NEVER } from '../../../../core/schedule/due.ts';
import { versionOf, type WorkflowRow, type WorkflowVersionRow, workflowOf } from '../../../rows/workflow-rows.ts';
import type { NewTrigger, WorkflowAnswer, WorkflowPut, WorkflowRecord, WorkflowVersion } from '../../../store.ts';
import type { Prepared } from '../../file/connection.ts';
import type { Transaction } from '../../file/transaction.ts';

export function getWorkflow(sql: Prepared, name: string): WorkflowRecord | undefined {
  const row = sql.get('workflowGet').get(name) as WorkflowRow | undefined;
  return row && workflowOf(row);
}

export function listWorkflows(sql: Prepared, after: string, limit: number): readonly WorkflowRecord[] {
  return (sql.get('workflowList').all(after, limit) as unknown as WorkflowRow[]).map(workflowOf);
}

export function listVersions(sql: Prepared, name: string, before: number, limit: number): readonly WorkflowVersion[] {
  return (sql.get('workflowVersions').all(name, before, limit) as unknown as WorkflowVersionRow[]).map(versionOf);
}

/** Everything that could refuse it is looked at before anything is written. */
export function putWorkflow(tx: Transaction, { name, revision, next, enabled, triggers }: WorkflowPut): WorkflowAnswer {
  const { sql, now } = tx;
  const stand = sql.get('workflowStand').get(name) as { version: number; revision: number } | undefined;
  if ((stand?.revision ?? 0) !== revision) return { kind: 'changed' };
  const taken = triggers.find((trigger) => {
    const owner = sql.get('triggerOwner').get(trigger.name) as { workflow: string | null } | undefined;
    return owner !== undefined && owner.workflow !== name;
  });
  if (taken !== undefined) return { kind: 'taken', trigger: taken.name };
  const version = (stand?.version ?? 0) + (next === undefined ? 0 : 1);
  const revised = Math.max(now, revision + 1);
  sql.get('workflowSet').run(name, version, revised, enabled ? 1 : 0, now);
  if (next !== undefined) {
    const { definition, by, restored } = next;
    sql.get('definitionKeep').run(NEVER, definition.hash, definition.kind, definition.body);
    sql.get('workflowVersionAdd').run(name, version, definition.hash, now, by ?? null, restored ?? null);
  }
  const wanted = new Set(triggers.map((trigger) => trigger.name));
  dropTriggers(tx, name, wanted);
  for (const trigger of triggers) ownTrigger(tx, name, trigger, enabled);
  return { kind: 'done', version, revision: revised };
}

export function removeWorkflow(tx: Transaction, name: string, revision: number): WorkflowAnswer {
  const { sql, now } = tx;
  const stand = sql.get('workflowStand').get(name) as { version: number; revision: number } | undefined;
  if (stand?.revision !== revision) return { kind: 'changed' };
  dropTriggers(tx, name, new Set());
  sql.get('definitionsFree').run(now, name);
  sql.get('workflowVersionsDrop').run(name);
  sql.get('workflowDrop').run(name);
  return { kind: 'done', ...stand };
}

/** Those that are not wanted, with their lines. */
function dropTriggers({ sql }: Transaction, workflow: string, wanted: ReadonlySet<string>): void {
  for (const { name } of sql.get('triggersOwned').all(workflow) as unknown as { name: string }[]) {
    if (wanted.has(name)) continue;
    sql.get('triggerFiresDrop').run(name, NEVER);
    sql.get('triggerDrop').run(name);
  }
}

function ownTrigger({ sql }: Transaction, workflow: string, t: NewTrigger, enabled: boolean): void {
  const run = t.run === undefined ? null : JSON.stringify(t.run);
  const task = [t.missed, 0 - t.priority, t.maxTries, t.payload] as const;
  sql
    .get('triggerOwn')
    .run(t.name, t.lane, t.spec, t.cron, t.timezone, ...task, t.nextAt, NEVER, enabled ? 1 : 0, workflow, run);
}
