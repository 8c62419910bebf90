import { fault } from '../../core/errors.ts';
import type { TaskState } from '../../core/task/task.ts';
import { type RunSituation, runSentence } from '../../engine/read/run-sentence.ts';
import type { TaskRecord, TreeRecord } from '../../engine/records.ts';
import type { Run } from '../../engine/trees/runs.ts';
import type { Value } from '../../flow/expression/values.ts';
import { GRAPH_HANDLER, readGraphPayload } from '../../flow/graph/graph-run.ts';
import type { Machine } from '../../flow/machine/definition.ts';
import type { MachinePayload } from '../../flow/machine/machine-run.ts';
import { begin, start } from '../../flow/machine/reduce.ts';
import { StateError } from '../../flow/machine/scopes.ts';
import type { Snapshot } from '../../flow/machine/snapshot.ts';
import { plainInput } from '../../flow/workflow/forked.ts';
import type { RunDetailView } from '../../protocol/views.ts';
import type { EngineSnapshot } from '../engine-snapshot.ts';
import { diagramOf } from './diagram.ts';
import { headsOf, snapshotAt, stepsOf } from './journals.ts';
import { machineOf, payloadOf } from './machine-definition.ts';
import { budgetsOf } from './run-budgets.ts';
import { viewOne } from './run-view.ts';
import { waitsOf } from './run-waits.ts';
import { totalsOf } from './totals.ts';

/** Members that are looked at for waits, and for what they have used. */
const MOST_MEMBERS = 1000;
const MOST_COUNTED = 200;
const LONGEST_MESSAGE = 200;

/** A run as its page shows it. Any task is one: a tree begins with it. */
export async function runDetail(snapshot: EngineSnapshot, run: Run): Promise<RunDetailView> {
  const { engine } = snapshot;
  const record = await engine.get(run.task);
  if (record === undefined) throw fault('NOT_FOUND', { kind: 'run', id: run.id });
  const root = run.root ?? run.task;
  const members = await treeBelow(snapshot, run, root);
  const counted = members.slice(0, MOST_COUNTED);
  const { heads, whole } = await headsOf(engine, [run.task, ...counted.map(({ task }) => task)]);
  const payload = payloadOf(record);
  const steps = payload === undefined ? [] : await stepsOf(engine, run.task, heads);
  const [counts, waits, machine, time, view, budgets] = await Promise.all([
    run.root === undefined ? engine.store.treeCount({ root }) : countOf(run, members),
    waitsOf(engine, run, members),
    payload === undefined ? undefined : machineOf(snapshot, payload),
    engine.store.clock(),
    viewOne(snapshot, run),
    budgetsOf(snapshot, root),
  ]);
  const at = payload && (await snapshotAt(engine, run.task, payload, { heads, steps }));
  const now = at ?? (payload === undefined ? undefined : firstOf(machine?.machine, payload, record));
  const situation: RunSituation = {
    state: run.state,
    reason: run.reason,
    wait: waits.find(({ task }) => task === run.id),
    below: waits.find(({ task, kind }) => task !== run.id && kind !== 'children' && kind !== 'time'),
    members: counts,
    current: now?.state,
    failure: failureOf(record),
    cancelRequested: run.cancelRequestedAt !== undefined,
    cancelReason: run.cancelNote?.why,
    cancelledBy: run.cancelNote?.by,
  };
  return {
    ...view,
    ...outcomeOf(record, payload),
    ...(record.handler === GRAPH_HANDLER ? inputOfGraph(record) : {}),
    ...(now === undefined ? {} : { current: now.state, step: now.step, context: now.context }),
    summary: runSentence(situation, time.calendar),
    members: Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0)),
    totals: totalsOf(heads, whole && counted.length === members.length && members.length < MOST_MEMBERS),
    budgets,
    waits,
    ...(machine === undefined ? {} : { states: diagramOf(machine.machine, machine.raw, steps, now) }),
    ...(await familyOf(snapshot, run)),
  };
}

/** The first members of the tree; of a member those below it. */
async function treeBelow({ engine }: EngineSnapshot, run: Run, root: number): Promise<readonly TreeRecord[]> {
  const members = await engine.store.treeList({ root, after: 0, limit: MOST_MEMBERS });
  if (run.root === undefined) return members;
  // Children have higher numbers than their parents.
  const below = new Set([run.task]);
  return members.filter(({ task, parent }) => below.has(parent) && below.add(task));
}

function countOf(run: Run, members: readonly TreeRecord[]): Readonly<Partial<Record<TaskState, number>>> {
  const counts: Partial<Record<TaskState, number>> = {};
  for (const { state } of [run, ...members]) counts[state] = (counts[state] ?? 0) + 1;
  return counts;
}

/** Where a machine is that has stored nothing so far, as far as that can be told without its hooks. */
function firstOf(
  machine: Machine | undefined,
  { executionId = '', input = {}, from }: MachinePayload,
  { attempt, createdAt }: TaskRecord,
): Snapshot | undefined {
  if (machine === undefined || attempt === 0 || from !== undefined) return undefined;
  try {
    const first = begin(machine, { executionId, input, now: createdAt });
    return start(machine, first, { now: createdAt, hooked: () => false }).snapshot;
  } catch (error) {
    if (error instanceof StateError) return undefined;
    throw error;
  }
}

/** The first line of its error, and where it was: a machine says its state by itself. */
function failureOf({ state, result }: TaskRecord): RunSituation['failure'] {
  const error: unknown = state !== 'failed' || result === undefined ? undefined : JSON.parse(result);
  if (typeof error !== 'object' || error === null) return undefined;
  const { message, node, nodeName = node, step } = error as Readonly<Record<string, unknown>>;
  if (typeof message !== 'string' || message === '') return undefined;
  const at =
    typeof nodeName === 'string' ? `the node ${nodeName}` : typeof step === 'string' ? `the ${step}` : undefined;
  const [line = ''] = message.split('\n', 1);
  return {
    message: line.length > LONGEST_MESSAGE ? `${line.slice(0, LONGEST_MESSAGE)}…` : line,
    ...(at === undefined ? {} : { at }),
  };
}

function outcomeOf({ state, payload, result }: TaskRecord, machine: MachinePayload | undefined) {
  const input = machine === undefined ? plainInput(JSON.parse(payload)) : machine.input;
  const outcome: unknown = result === undefined ? undefined : JSON.parse(result);
  return {
    ...(input === undefined ? {} : { input }),
    ...(outcome === undefined ? {} : state === 'completed' ? { output: outcome } : { error: outcome }),
  };
}

/** What somebody gave a graph is within what its task was given. */
function inputOfGraph({ payload }: TaskRecord): Pick<RunDetailView, 'input'> {
  const graph = readGraphPayload(JSON.parse(payload) as Value);
  return typeof graph === 'string' ? {} : { input: graph.input };
}

async function familyOf(
  { engine }: EngineSnapshot,
  { parent, root }: Run,
): Promise<Pick<RunDetailView, 'parent' | 'root'>> {
  if (parent === undefined || root === undefined) return {};
  const [above, top] = await engine.store.runGet({ tasks: [parent, root] });
  return {
    ...(above === undefined ? {} : { parent: engine.idOf(above) }),
    ...(top === undefined ? {} : { root: engine.idOf(top) }),
  };
}
