import type { Graph, GraphNode } from '../../flow/graph/definition.ts';
import type { GraphSnapshot } from '../../flow/graph/snapshot.ts';

/**
 * How many tasks must end before any node can become ready: the fewest that a node waits for of which all sources run. With fewer the run
 * would wake for nothing. `left`: unfinished tasks by the nodes that run.
 */
export function needOf({ nodes }: Graph, { nodes: states }: GraphSnapshot, left: ReadonlyMap<number, number>): number {
  const all = [...left.values()].reduce((sum, count) => sum + count, 0);
  const waiting = new Map<number, { connections: number; sources: Set<number> }>();
  for (const index of left.keys()) {
    for (const { to } of (nodes[index] as GraphNode).outgoing) {
      const one = waiting.get(to) ?? { connections: 0, sources: new Set() };
      one.connections++;
      one.sources.add(index);
      waiting.set(to, one);
    }
  }
  let need = all;
  for (const [index, { connections, sources }] of waiting) {
    const state = states.get(index);
    if (state.at !== 'waiting' || state.missing !== connections) continue;
    need = Math.min(
      need,
      [...sources].reduce((sum, source) => sum + (left.get(source) as number), 0),
    );
  }
  return Math.max(1, need);
}
