import type { Value, ValueMap } from '../../../flow/expression/values.ts';
import { isMap } from '../../../flow/expression/values.ts';
import type { GraphNode } from '../../../flow/graph/definition.ts';
import type { RunGraphView } from '../../../protocol/views.ts';
import type { GraphOfRun } from './graph-of-run.ts';

type Outline = RunGraphView['nodes'][number];

/** A graph as it is drawn. */
export function outlineOfGraph({ graph, settings, payload }: GraphOfRun): RunGraphView {
  const { upTo, trigger } = payload;
  return {
    name: graph.name,
    nodes: graph.nodes.map((node) => outlineOfNode(node, settings.get(node.id))),
    connections: graph.nodes.flatMap(({ outgoing }) =>
      outgoing.map(({ from, to, rejected }) => ({ from, to, ...(rejected ? { rejected } : {}) })),
    ),
    ...(upTo === undefined ? {} : { upTo }),
    ...(trigger === undefined ? {} : { trigger }),
  };
}

export function outlineOfNode({ id, name, type, work, kind, pinned }: GraphNode, settings: ValueMap = {}): Outline {
  const { position } = settings;
  const [x, y] = isMap(position) ? [coordinate(position['x']), coordinate(position['y'])] : [];
  return {
    id,
    name,
    type,
    does: work.do === 'task' ? work.form : work.do,
    perItem: kind === 'map',
    ...(pinned === undefined ? {} : { pinned: pinned.length }),
    ...(x === undefined || y === undefined ? {} : { x, y }),
  };
}

/** Beyond that nothing is drawn. */
const FAR = 1_000_000;

const coordinate = (value: Value): number | undefined =>
  typeof value === 'number' && Math.abs(value) <= FAR ? value : undefined;
