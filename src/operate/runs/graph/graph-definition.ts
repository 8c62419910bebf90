import type { Value, ValueMap } from '../../../flow/expression/values.ts';
import { isList, isMap } from '../../../flow/expression/values.ts';
import type { Graph } from '../../../flow/graph/definition.ts';
import { readGraph } from '../../../flow/graph/read-graph.ts';
import type { EngineSnapshot } from '../../engine-snapshot.ts';

export interface StoredGraph {
  readonly graph: Graph;
  /** What the workflow says of each node, by its id. */
  readonly settings: ReadonlyMap<string, ValueMap>;
}

/** A definition is found by its hash, so it never changes. Who watches a run asks every second. */
const known = new Map<string, StoredGraph | undefined>();
const MOST_KEPT = 8;

/** Undefined where there is none, or where it cannot be read. */
export async function graphAt(
  { engine }: EngineSnapshot,
  hash: string,
  name: string | undefined,
): Promise<StoredGraph | undefined> {
  const key = JSON.stringify([hash, name]);
  if (known.has(key)) return known.get(key);
  const body = (await engine.store.definitionGet({ hash }))?.body;
  const [oldest] = known.keys();
  if (known.size >= MOST_KEPT && oldest !== undefined) known.delete(oldest);
  const found = body === undefined ? undefined : storedIn(body, name);
  // One that has not come yet may still come.
  if (body !== undefined) known.set(key, found);
  return found;
}

function storedIn(body: string, name: string | undefined): StoredGraph | undefined {
  try {
    const value = JSON.parse(body) as Value;
    const { graph } = readGraph(value, name === undefined ? {} : { name });
    return graph && { graph, settings: settingsIn(value) };
  } catch {
    return undefined;
  }
}

/** The file has a list of nodes, or a map by their ids. */
function settingsIn(value: Value): ReadonlyMap<string, ValueMap> {
  const nodes = isMap(value) ? value['nodes'] : undefined;
  const entries: readonly (readonly [Value, Value])[] = isList(nodes)
    ? nodes.map((node) => [isMap(node) ? node['id'] : undefined, node] as const)
    : isMap(nodes)
      ? Object.entries(nodes).map(([key, node]) => [isMap(node) ? (node['id'] ?? key) : key, node] as const)
      : [];
  return new Map(entries.flatMap(([id, node]) => (typeof id === 'string' && isMap(node) ? [[id, node] as const] : [])));
}
