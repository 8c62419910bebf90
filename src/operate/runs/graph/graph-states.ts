import { isFinal } from '../../../core/task/task.ts';
import type { Run } from '../../../engine/trees/runs.ts';
import type { Graph } from '../../../flow/graph/definition.ts';
import { reduceGraph, startGraph } from '../../../flow/graph/reduce.ts';
import type { RunScope } from '../../../flow/graph/scope.ts';
import type { NodeState } from '../../../flow/graph/snapshot.ts';
import type { RunGraphStatesView } from '../../../protocol/views.ts';
import type { EngineSnapshot } from '../../engine-snapshot.ts';
import type { GraphOfRun } from './graph-of-run.ts';
import { GraphPast, type NodeBirth } from './graph-past.ts';

export type NodeStanding = RunGraphStatesView['nodes'][number];
type NodeTasks = NonNullable<NodeStanding['tasks']>;

const RECORDS_AT_ONCE = 500;

/** How each node of a run stands: by the rules that run it, from what its journal has. */
export async function graphStates(
  snapshot: EngineSnapshot,
  run: Run,
  { graph, scope, record }: GraphOfRun,
): Promise<RunGraphStatesView & { readonly past: GraphPast }> {
  const past = await GraphPast.read(snapshot.engine, run.task);
  const states = statesBy(graph, scope, past);
  // What a node that has ended gave is in its mark: its tasks have all completed.
  const open = states.flatMap((state, node) => (state.at === 'running' ? past.births(node) : []));
  const tasks = await tasksOf(snapshot, open);
  const failedAt = run.state === 'failed' ? failedNode(record.result) : undefined;
  const nodes = graph.nodes.map(({ id, index, pinned }): NodeStanding => {
    const state = states[index] as NodeState;
    const births = past.births(index);
    const mark = past.mark(index);
    const [first] = births;
    const began = first?.at ?? mark?.ended;
    const times = began === undefined ? {} : { began };
    switch (state.at) {
      case 'done': {
        const all = births.length;
        return {
          state: 'done',
          kept: state.kept,
          ...(state.rejected === 0 ? {} : { rejected: state.rejected }),
          ...times,
          ...(mark === undefined ? {} : { ended: mark.ended }),
          ...(all === 0 ? {} : { tasks: { all, ended: all, running: 0, failed: 0 } }),
        };
      }
      case 'running': {
        const own = countsOf(births, tasks);
        const failed = id === failedAt || (own.failed > 0 && own.ended === own.all);
        // What is ready and in no journal yet has not begun.
        if (births.length === 0) return { state: failed ? 'failed' : 'waiting' };
        const ends = failed ? births.flatMap(({ task }) => tasks.get(task)?.finishedAt ?? []) : [];
        return {
          state: failed ? 'failed' : 'running',
          ...times,
          ...(ends.length === 0 ? {} : { ended: Math.max(...ends) }),
          tasks: own,
        };
      }
      case 'waiting':
        return { state: pinned === undefined && id === failedAt ? 'failed' : 'waiting' };
      case 'failed':
      case 'skipped':
      case 'outside':
        return { state: state.at };
    }
  });
  return { nodes, ...(past.whole ? {} : { partial: true }), past };
}

/** Nodes with a mark have ended; others that may run are told as running. */
function statesBy(graph: Graph, scope: RunScope, past: GraphPast): readonly NodeState[] {
  let { snapshot, commands } = startGraph(graph, scope);
  const queue = [...commands];
  for (let command = queue.pop(); command !== undefined; command = queue.pop()) {
    if (command.do !== 'run') continue;
    const mark = past.mark(command.node);
    if (mark === undefined) continue;
    const { kept, rejected } = mark;
    ({ snapshot, commands } = reduceGraph(graph, snapshot, { kind: 'ended', node: command.node, kept, rejected }));
    queue.push(...commands);
  }
  return graph.nodes.map(({ index }) => snapshot.nodes.get(index));
}

type Ended = Pick<Run, 'state' | 'finishedAt'>;

async function tasksOf({ engine }: EngineSnapshot, births: readonly NodeBirth[]): Promise<ReadonlyMap<number, Ended>> {
  const found = new Map<number, Ended>();
  for (let from = 0; from < births.length; from += RECORDS_AT_ONCE) {
    const tasks = births.slice(from, from + RECORDS_AT_ONCE).map(({ task }) => task);
    for (const record of await engine.store.runGet({ tasks })) if (record !== undefined) found.set(record.task, record);
  }
  return found;
}

function countsOf(births: readonly NodeBirth[], tasks: ReadonlyMap<number, Ended>): NodeTasks {
  const states = births.map(({ task }) => tasks.get(task)?.state);
  return {
    all: births.length,
    ended: states.filter((state) => state === undefined || isFinal(state)).length,
    running: states.filter((state) => state === 'running').length,
    failed: states.filter((state) => state === 'failed' || state === 'cancelled').length,
  };
}

/** The id of the node that the error of the run names. */
function failedNode(result: string | undefined): string | undefined {
  const error: unknown = result === undefined ? undefined : JSON.parse(result);
  const { node } = (typeof error === 'object' && error !== null ? error : {}) as { readonly node?: unknown };
  return typeof node === 'string' ? node : undefined;
}
