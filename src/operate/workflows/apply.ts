import { fault } from '../../core/errors.ts';
import type { WorkflowRecord } from '../../engine/records.ts';
import { checkWorkflow } from '../../engine/workflows.ts';
import type { Value } from '../../flow/expression/values.ts';
import { changesBetween, type GraphChange } from '../../flow/graph/changes.ts';
import { readGraph } from '../../flow/graph/read-graph.ts';
import { type Problem, pathText } from '../../flow/machine/problems.ts';
import type { RequestOf } from '../../protocol/paths.ts';
import type { AppliedWorkflowView, WorkflowCheckView } from '../../protocol/views.ts';
import type { EngineSnapshot } from '../engine-snapshot.ts';
import { graphIn } from '../runs/start-run.ts';
import { changeWorkflow, findWorkflow, graphOf, textOf, triggersIn } from './stored.ts';
import { viewWorkflow } from './view.ts';

/** Of a list that is told. */
const MOST_TOLD = 200;

interface Applied {
  readonly fresh: boolean;
  readonly changes: readonly GraphChange[];
  readonly problems: readonly Problem[];
  /** As it would be. */
  readonly version: number;
  readonly enabled: boolean;
}

/** Stores a workflow, or a new version of it. */
export async function applyWorkflow(
  snapshot: EngineSnapshot,
  { name, workflow, enabled, expected, dryRun = false }: RequestOf<'applyWorkflow'>,
  by: string | undefined,
): Promise<AppliedWorkflowView> {
  checkWorkflow(name);
  const { graph, definition, problems } = graphIn('workflow', workflow, await limitsOf(snapshot));
  const applied = await changeWorkflow(snapshot, name, async (record) => {
    checkExpected(name, record, expected);
    const before = record === undefined ? undefined : (JSON.parse(await textOf(snapshot, record.definition)) as Value);
    const changes = changesBetween(before, workflow as Value);
    const fresh = record === undefined || changes.length > 0;
    const own = fresh ? (workflow as { readonly enabled?: unknown }).enabled : undefined;
    const on = enabled ?? (typeof own === 'boolean' ? own : (record?.enabled ?? true));
    const version = (record?.version ?? 0) + (fresh ? 1 : 0);
    const answer: Applied = { fresh, changes, problems, version, enabled: on };
    if (dryRun || (!fresh && on === record.enabled)) return { answer };
    const hash = fresh ? definition.hash : record.definition;
    const change = {
      name,
      revision: record?.revision ?? 0,
      enabled: on,
      triggers: triggersIn(name, version, hash, graph),
      ...(fresh ? { next: { definition, by } } : {}),
    };
    return { change, answer };
  });
  return dryRun ? foreseen(snapshot, name, definition.hash, applied) : viewApplied(snapshot, name, applied);
}

/** The text of an old version as a new one. */
export async function restoreWorkflow(
  snapshot: EngineSnapshot,
  { name, version: restored }: { readonly name: string; readonly version: number },
  { expected }: RequestOf<'restoreWorkflow'>,
  by: string | undefined,
): Promise<AppliedWorkflowView> {
  const applied = await changeWorkflow(snapshot, name, async () => {
    const record = await findWorkflow(snapshot, name);
    checkExpected(name, record, expected);
    const { definition: hash } = await findVersion(snapshot, name, restored);
    const [body, now] = await Promise.all([textOf(snapshot, hash), textOf(snapshot, record.definition)]);
    const value = JSON.parse(body) as Value;
    const changes = changesBetween(JSON.parse(now) as Value, value);
    const fresh = changes.length > 0;
    const { enabled } = record;
    const version = record.version + (fresh ? 1 : 0);
    const answer: Applied = { fresh, changes, problems: readGraph(value).problems, version, enabled };
    if (!fresh) return { answer };
    const triggers = triggersIn(name, version, hash, graphOf(name, value));
    const next = { definition: { hash, kind: 'graph', body }, by, restored };
    return { change: { name, revision: record.revision, enabled, triggers, next }, answer };
  });
  return viewApplied(snapshot, name, applied);
}

/** Says all that is wrong with it. */
export async function checkWorkflowText(snapshot: EngineSnapshot, workflow: unknown): Promise<WorkflowCheckView> {
  const { graph, problems } = readGraph(workflow as Value, { groups: await limitsOf(snapshot) });
  return { ok: graph !== undefined, problems: told(problems) };
}

export async function findVersion({ engine }: EngineSnapshot, name: string, version: number) {
  const [found] = await engine.workflows.versions(name, { before: version + 1, limit: 1 });
  if (found?.version === version) return found;
  const hint = `"leasehold workflows versions ${name}" shows those that there are.`;
  throw fault('NOT_FOUND', { kind: 'version', id: `${name} ${version}` }, { hint });
}

function checkExpected(name: string, record: WorkflowRecord | undefined, expected: number | undefined): void {
  const version = record?.version ?? 0;
  if (expected === undefined || expected === version) return;
  const problem =
    version === 0 ? `there is no workflow ${name}` : `the workflow ${name} has version ${version}, not ${expected}`;
  throw fault('CONFLICT', { problem, version }, { hint: 'Look at what was changed, and apply your change to that.' });
}

/** A group that nobody has made would protect nothing. */
async function limitsOf({ engine }: EngineSnapshot): Promise<ReadonlySet<string>> {
  return new Set((await engine.limits.list()).map(({ name }) => name));
}

async function viewApplied(snapshot: EngineSnapshot, name: string, applied: Applied): Promise<AppliedWorkflowView> {
  return { ...(await viewWorkflow(snapshot, await findWorkflow(snapshot, name))), ...partsOf(applied) };
}

async function foreseen(
  snapshot: EngineSnapshot,
  name: string,
  definition: string,
  applied: Applied,
): Promise<AppliedWorkflowView> {
  const record = await snapshot.engine.workflows.get(name);
  const { version, enabled } = applied;
  const { calendar: at } = await snapshot.engine.store.clock();
  const none = { name, createdAt: at, triggers: [] };
  const now = record === undefined ? none : await viewWorkflow(snapshot, record);
  return { ...now, version, definition, enabled, at, changedAt: at, ...partsOf(applied) };
}

function partsOf({ fresh, changes, problems }: Applied) {
  return { fresh, changes: changes.slice(0, MOST_TOLD), warnings: told(problems) };
}

const told = (problems: readonly Problem[]): WorkflowCheckView['problems'] =>
  problems.slice(0, MOST_TOLD).map(({ level, path, message }) => ({ level, path: pathText(path), message }));
