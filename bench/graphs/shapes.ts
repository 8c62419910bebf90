/** Graphs of a size, all of whose nodes but the first are tasks. Their texts are short: a graph has at most 1 MiB. */
const START = { id: 'start', typeId: 'core/start' };
const node = (id: string, data: object) => ({ id, typeId: 's', data });
const connection = (from: string, to: string) => ({ sourceNodeId: from, targetNodeId: to });
const nameOf = (i: number): string => `n${i.toString(36)}`;

interface Shape {
  readonly what: string;
  readonly make: (nodes: number) => object;
}

/** Each node reads what the one before it gave. */
function chain(nodes: number): object {
  const ids = Array.from({ length: nodes - 1 }, (_, i) => nameOf(i));
  return {
    nodes: [START, ...ids.map((id, i) => node(id, { n: i === 0 ? 0 : `{{ $.${nameOf(i - 1)}.n }}` }))],
    connections: ids.map((id, i) => connection(i === 0 ? 'start' : nameOf(i - 1), id)),
  };
}

/** Layers of so many nodes, each behind a node that gathers the layer before it. */
function layers(nodes: number, width: number): object {
  const all: object[] = [START];
  const connections: object[] = [];
  let gate = 'start';
  for (let layer = 0; all.length < nodes; layer++) {
    const ids = Array.from({ length: Math.min(width, nodes - all.length - 1) }, (_, i) => nameOf(all.length + i));
    const next = `g${layer}`;
    for (const id of ids) {
      all.push(node(id, { n: layer }));
      connections.push(connection(gate, id), connection(id, next));
    }
    all.push(node(next, { n: '{{ $items.length }}' }));
    gate = next;
  }
  return { nodes: all, connections };
}

export const SHAPES: Readonly<Record<string, Shape>> = {
  chain: { what: 'a chain', make: chain },
  layers: { what: 'layers of 10, each gathered', make: (nodes) => layers(nodes, 10) },
  fan: { what: 'fans of 500, each gathered', make: (nodes) => layers(nodes, 500) },
};
