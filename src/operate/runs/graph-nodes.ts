import type { Run } from '../../engine/trees/runs.ts';
import type { Value } from '../../flow/expression/values.ts';
import { readGraph } from '../../flow/graph/read-graph.ts';
import type { EngineSnapshot } from '../engine-snapshot.ts';

/** A definition is found by its hash, so it never changes. Who watches a run asks every second. */
const known = new Map<string, readonly string[]>();
const MOST_KEPT = 20;

/** The ids of the nodes of a graph, in their order. None where the run is of something else, or cannot be read. */
export async function graphNodes(
  { engine }: EngineSnapshot,
  { kind, definition: hash }: Pick<Run, 'kind' | 'definition'>,
): Promise<readonly string[]> {
  if (kind !== 'graph' || hash === undefined) return [];
  const kept = known.get(hash);
  if (kept !== undefined) return kept;
  const body = (await engine.store.definitionGet({ hash }))?.body;
  const names = body === undefined ? [] : idsIn(body);
  const [oldest] = known.keys();
  if (known.size >= MOST_KEPT && oldest !== undefined) known.delete(oldest);
  known.set(hash, names);
  return names;
}

function idsIn(body: string): readonly string[] {
  try {
    return readGraph(JSON.parse(body) as Value).graph?.nodes.map(({ id }) => id) ?? [];
  } catch {
    return [];
  }
}
