import { fault } from '../../../core/errors.ts';
import type { Run } from '../../../engine/trees/runs.ts';
import type { Value } from '../../../flow/expression/values.ts';
import type { GraphNode, Item } from '../../../flow/graph/definition.ts';
import { itemsGiven } from '../../../flow/graph/items.ts';
import { measure } from '../../../flow/graph/measure.ts';
import { NodeOutputs, type NodeTaskResult } from '../../../flow/graph/node-outputs.ts';
import type { RunGraphNodeView } from '../../../protocol/views.ts';
import type { EngineSnapshot } from '../../engine-snapshot.ts';
import type { GraphOfRun } from './graph-of-run.ts';
import { outlineOfNode } from './graph-outline.ts';
import type { GraphPast, NodeBirth } from './graph-past.ts';
import { graphStates, type NodeStanding } from './graph-states.ts';

/** Items that are computed again for a look, and those that are shown. */
const MOST_ITEMS = 5_000;
const MOST_SHOWN = 20;
/** Characters of JSON that one list shows. */
const MOST_LONG = 200_000;
/** What is read of results for a look. */
const MOST_BYTES = 8 * 1024 * 1024;
const MOST_TASKS = 100;

/** One node with what came in, what it gave, and its tasks. */
export async function graphNode(
  snapshot: EngineSnapshot,
  run: Run,
  of: GraphOfRun,
  id: string,
): Promise<RunGraphNodeView> {
  const node = of.graph.nodes.find((one) => one.id === id);
  if (node === undefined)
    throw fault('NOT_FOUND', { kind: 'node', id: `${JSON.stringify(id.slice(0, 80))} of the run ${run.id}` });
  const { nodes, past } = await graphStates(snapshot, run, of);
  const settings = of.settings.get(id);
  const members = await membersOf(snapshot, past.births(node.index));
  const error = members.find((one) => one.error !== undefined)?.error ?? ownError(of, id);
  return {
    ...outlineOfNode(node, settings),
    ...(nodes[node.index] as NodeStanding),
    settings: settings !== undefined && measure(settings).length <= MOST_LONG ? settings : null,
    ...(await itemsOf(snapshot, of, { node, past, nodes })),
    ...(error === undefined ? {} : { error }),
    members,
  };
}

/** Of a node that ran within the run. */
function ownError({ record }: GraphOfRun, id: string): unknown {
  if (record.state !== 'failed' || record.result === undefined) return undefined;
  const error = JSON.parse(record.result) as { readonly node?: unknown } | null;
  return error?.node === id ? error : undefined;
}

async function membersOf(snapshot: EngineSnapshot, births: readonly NodeBirth[]): Promise<RunGraphNodeView['members']> {
  const shown = births.slice(0, MOST_TASKS);
  const views = await snapshot.shown(shown.map(({ task }) => task));
  const keys = new Map(shown.map(({ task, key }) => [task, key]));
  return views.map(({ id, state, attempt, createdAt, startedAt, finishedAt, worker, error }) => ({
    id,
    key: keys.get(snapshot.numberOf(id)) ?? '',
    state,
    attempt,
    createdAt,
    ...(startedAt === undefined ? {} : { startedAt }),
    ...(finishedAt === undefined ? {} : { finishedAt }),
    ...(worker === undefined ? {} : { worker }),
    ...(error === undefined ? {} : { error }),
  }));
}

interface NodeThen {
  readonly node: GraphNode;
  readonly past: GraphPast;
  readonly nodes: readonly NodeStanding[];
}

type Shown = Pick<RunGraphNodeView, 'input' | 'output' | 'rejects' | 'withheld'>;

/** Items are in no journal: they are computed again, from the results of tasks, as the run itself does. */
async function itemsOf(snapshot: EngineSnapshot, of: GraphOfRun, { node, past, nodes }: NodeThen): Promise<Shown> {
  const hasInput = node.incoming.every(({ from }) => isOver(nodes[from]));
  const isDone = nodes[node.index]?.state === 'done';
  if (!hasInput && !isDone) return {};
  if (itemsBehind(of, node, nodes) > MOST_ITEMS) {
    return { withheld: `more than ${MOST_ITEMS.toLocaleString('en')} items are behind it` };
  }
  const outputs = new NodeOutputs({
    graph: of.graph,
    results: (tasks) => resultsOf(snapshot, tasks),
    journal: past,
    items: itemsGiven(of.payload.input as Value),
  });
  try {
    const input = hasInput && node.pinned === undefined ? await outputs.input(node) : undefined;
    const output = isDone ? await outputs.output(node.index) : undefined;
    return {
      ...(input === undefined ? {} : { input: first(input) }),
      ...(output === undefined ? {} : { output: first(output.kept) }),
      ...(output === undefined || output.rejected.length === 0 ? {} : { rejects: first(output.rejected) }),
    };
  } catch (error) {
    // What another host has stored may fit nowhere. The rest of the page is worth showing.
    return { withheld: error instanceof Error ? error.message : 'they cannot be computed' };
  }
}

const isOver = (state: NodeStanding | undefined): boolean => state?.state === 'done' || state?.state === 'skipped';

/** What the nodes before it gave, all together. */
function itemsBehind({ graph }: GraphOfRun, node: GraphNode, nodes: readonly NodeStanding[]): number {
  const seen = new Set([node.index]);
  const left = [node.index];
  let items = 0;
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const { pinned, incoming } = graph.nodes[next] as GraphNode;
    items += 1 + (nodes[next]?.kept ?? 0) + (nodes[next]?.rejected ?? 0);
    for (const { from } of pinned === undefined ? incoming : []) {
      if (seen.has(from)) continue;
      seen.add(from);
      left.push(from);
    }
  }
  return items;
}

async function resultsOf({ engine }: EngineSnapshot, tasks: readonly number[]): Promise<readonly NodeTaskResult[]> {
  const records = await engine.store.taskGet({ tasks });
  let bytes = 0;
  return records.map((record, i) => {
    bytes += record?.result?.length ?? 0;
    if (bytes > MOST_BYTES) throw new Error('their results are too large to be read for a look');
    return { task: tasks[i] as number, state: record?.state ?? 'gone', result: record?.result };
  });
}

function first(items: readonly Item[]): NonNullable<Shown['input']> {
  let left = MOST_LONG;
  const shown = items.slice(0, MOST_SHOWN).filter((item) => {
    left -= measure(item).length;
    return left >= 0;
  });
  return { all: items.length, items: shown };
}
