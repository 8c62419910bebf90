import type { Graph, GraphNode } from './definition.ts';
import { isTrigger } from './node-types.ts';

export interface RunScope {
  /** The run ends with this node: it and what it needs. Default: all nodes. */
  readonly upTo?: number | undefined;
  /** The one that fired: other triggers give nothing. Default: all fire. */
  readonly trigger?: number | undefined;
}

/** Which nodes are part of a run. What only feeds pinned nodes is not needed up to a node. */
export function partOfRun({ nodes }: Graph, { upTo }: RunScope): readonly boolean[] {
  if (upTo === undefined) return nodes.map(() => true);
  const within = nodes.map(() => false);
  const left = [upTo];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (within[next] === true) continue;
    within[next] = true;
    const { pinned, incoming } = nodes[next] as GraphNode;
    if (pinned === undefined) left.push(...incoming.map(({ from }) => from));
  }
  return within;
}

/** Nothing is connected to it, and it waits for an event. */
export const mayFire = ({ work, incoming }: GraphNode): boolean => isTrigger(work) && incoming.length === 0;
