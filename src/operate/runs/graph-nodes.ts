import type { Run } from '../../engine/trees/runs.ts';
import type { EngineSnapshot } from '../engine-snapshot.ts';
import { graphAt } from './graph/graph-definition.ts';

/** The ids of the nodes of a graph, in their order. None where the run is of something else, or cannot be read. */
export async function graphNodes(
  snapshot: EngineSnapshot,
  { kind, definition: hash }: Pick<Run, 'kind' | 'definition'>,
): Promise<readonly string[]> {
  if (kind !== 'graph' || hash === undefined) return [];
  return (await graphAt(snapshot, hash, undefined))?.graph.nodes.map(({ id }) => id) ?? [];
}
