import { fault } from '../../core/errors.ts';
import type { WorkflowAnswer, WorkflowRecord } from '../../engine/records.ts';
import type { WorkflowChange, WorkflowTrigger } from '../../engine/workflows.ts';
import type { Value } from '../../flow/expression/values.ts';
import type { Graph } from '../../flow/graph/definition.ts';
import { graphPermissions } from '../../flow/graph/graph-permissions.ts';
import { GRAPH_HANDLER, GRAPH_QUEUE, GRAPH_TRIES, type GraphPayload } from '../../flow/graph/graph-run.ts';
import { readGraph } from '../../flow/graph/read-graph.ts';
import type { EngineSnapshot } from '../engine-snapshot.ts';

/** A workflow that changes so often between two statements is not a coincidence. */
const TRIES = 20;

export interface StoredWorkflow {
  readonly record: WorkflowRecord;
  /** As it was applied. */
  readonly value: Value;
  readonly graph: Graph;
}

export async function findWorkflow({ engine }: EngineSnapshot, name: string): Promise<WorkflowRecord> {
  const record = await engine.workflows.get(name);
  if (record !== undefined) return record;
  const hint =
    '"leasehold workflows list" shows those that are stored, "leasehold workflows apply -f FILE" stores one.';
  throw fault('NOT_FOUND', { kind: 'workflow', id: name }, { hint });
}

/** The text of a version. */
export async function textOf({ engine }: EngineSnapshot, definition: string): Promise<string> {
  const found = await engine.runs.definition(definition);
  if (found !== undefined) return found.body;
  throw fault('NOT_FOUND', { kind: 'definition', id: definition });
}

export async function storedWorkflow(snapshot: EngineSnapshot, record: WorkflowRecord): Promise<StoredWorkflow> {
  const value = JSON.parse(await textOf(snapshot, record.definition)) as Value;
  return { record, value, graph: graphOf(record.name, value) };
}

/** It was checked when it was applied, maybe by an older program. */
export function graphOf(name: string, value: Value): Graph {
  const { graph } = readGraph(value);
  if (graph !== undefined) return graph;
  const problem = `the workflow ${name} cannot be read by this version of leasehold`;
  throw fault('CONFLICT', { problem }, { hint: `"leasehold workflows check" says what is wrong with its text.` });
}

/** Makes a change of what is there until nobody else has changed it meanwhile. */
export async function changeWorkflow<T>(
  snapshot: EngineSnapshot,
  name: string,
  change: (record: WorkflowRecord | undefined) => Promise<{ readonly change?: WorkflowChange; readonly answer: T }>,
): Promise<T> {
  const { workflows } = snapshot.engine;
  for (let i = 0; i < TRIES; i++) {
    const { change: wanted, answer } = await change(await workflows.get(name));
    if (wanted === undefined || isDone(await workflows.put(wanted))) return answer;
  }
  throw fault('CONFLICT', { problem: `the workflow ${name} is being changed all the time` });
}

const isDone = ({ kind }: WorkflowAnswer): boolean => kind === 'done';

export const labelsOf = (name: string, version: number): Readonly<Record<string, string>> => ({
  workflow: name,
  version: String(version),
});

/** Its nodes that start runs by a clock: nothing leads to them. */
export function triggersIn(
  name: string,
  version: number,
  definition: string,
  graph: Graph,
): readonly WorkflowTrigger[] {
  return graph.nodes.flatMap(({ id, work, incoming }): readonly WorkflowTrigger[] => {
    if (work.do !== 'scheduled' || work.times === undefined || incoming.length > 0) return [];
    const { timezone, missed, ...times } = work.times;
    const input: GraphPayload = { definition, trigger: id };
    const permissions = graphPermissions(graph, GRAPH_QUEUE);
    return [
      {
        node: id,
        times,
        timezone,
        missed,
        request: { queue: GRAPH_QUEUE, handler: GRAPH_HANDLER, input, maxAttempts: GRAPH_TRIES, permissions },
        run: { kind: 'graph', title: name, definition, labels: labelsOf(name, version) },
      },
    ];
  });
}
