import { NEVER } from '../../../../core/schedule/due.ts';
import { versionOf, type WorkflowRow, type WorkflowVersionRow, workflowOf } from '../../../rows/workflow-rows.ts';
import type { NewTrigger, WorkflowAnswer, WorkflowPut, WorkflowRecord, WorkflowVersion } from '../../../store.ts';
import { texts } from '../../arrays.ts';
import type { Session } from '../../connect/database.ts';
import { triggerColumns } from './trigger.ts';

interface Stand {
  readonly version: number;
  readonly revision: number;
  readonly now: number;
}

export async function getWorkflow(session: Session, name: string): Promise<WorkflowRecord | undefined> {
  const [row] = await session.all<WorkflowRow>('workflowGet', [name]);
  return row && workflowOf(row);
}

export async function listWorkflows(
  session: Session,
  after: string,
  limit: number,
): Promise<readonly WorkflowRecord[]> {
  return (await session.all<WorkflowRow>('workflowList', [after, limit])).map(workflowOf);
}

export async function listVersions(
  session: Session,
  name: string,
  before: number,
  limit: number,
): Promise<readonly WorkflowVersion[]> {
  return (await session.all<WorkflowVersionRow>('workflowVersions', [name, before, limit])).map(versionOf);
}

/** In a transaction. The row of the workflow is locked first, then its triggers by name: who fires one of them waits for neither. */
export async function putWorkflow(session: Session, put: WorkflowPut): Promise<WorkflowAnswer> {
  await session.raw('SAVEPOINT workflow');
  const answer = await apply(session, put);
  if (answer.kind !== 'done') await session.raw('ROLLBACK TO SAVEPOINT workflow');
  return answer;
}

async function apply(
  session: Session,
  { name, revision, next, enabled, triggers }: WorkflowPut,
): Promise<WorkflowAnswer> {
  const stand = await hold(session, name, revision);
  if (stand === undefined) return { kind: 'changed' };
  const version = stand.version + (next === undefined ? 0 : 1);
  const revised = Math.max(stand.now, revision + 1);
  await session.rows('workflowSet', [name, version, revised, enabled ? 1 : 0, stand.now]);
  if (next !== undefined) {
    const { definition, by, restored } = next;
    await session.rows('definitionKeep', [NEVER, definition.hash, definition.kind, definition.body]);
    const row = [name, version, definition.hash, stand.now, by ?? null, restored ?? null];
    await session.rows('workflowVersionAdd', row);
  }
  await dropTriggers(session, name, triggers);
  for (const trigger of triggers.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    if (!(await ownTrigger(session, name, trigger, enabled))) return { kind: 'taken', trigger: trigger.name };
  }
  return { kind: 'done', version, revision: revised };
}

export async function removeWorkflow(session: Session, name: string, revision: number): Promise<WorkflowAnswer> {
  const stand = revision === 0 ? undefined : await hold(session, name, revision);
  if (stand === undefined) return { kind: 'changed' };
  await dropTriggers(session, name, []);
  await session.rows('definitionsFree', [name]);
  await session.rows('workflowVersionsDrop', [name]);
  await session.rows('workflowDrop', [name]);
  return { kind: 'done', version: stand.version, revision };
}

/** Undefined: it is another one than the caller saw. */
async function hold(session: Session, name: string, revision: number): Promise<Stand | undefined> {
  if (revision === 0 && (await session.rows('workflowMake', [name])).length === 0) return undefined;
  const [stand] = await session.all<Stand>('workflowHold', [name]);
  return stand?.revision === revision ? stand : undefined;
}

/** Those that are not wanted, with their lines. */
async function dropTriggers(session: Session, workflow: string, wanted: readonly NewTrigger[]): Promise<void> {
  const dropped = await session.rows('triggersDisown', [workflow, texts(wanted.map(({ name }) => name))]);
  for (const [name] of dropped) await session.rows('triggerFiresDrop', [name as string, NEVER]);
}

/** False: its name belongs to another schedule. */
async function ownTrigger(session: Session, workflow: string, t: NewTrigger, enabled: boolean): Promise<boolean> {
  const owned = await session.rows('triggerOwn', [
    ...triggerColumns(t),
    NEVER,
    enabled,
    workflow,
    t.run === undefined ? null : JSON.stringify(t.run),
  ]);
  return owned.length > 0;
}
