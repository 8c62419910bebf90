/** Graphs of the browser tests. `edges`: "a>b", or "a!b" for what a node `if` rejects. */

type NodeFields = Readonly<Record<string, unknown>>;

function workflow(name: string, nodes: Readonly<Record<string, NodeFields>>, edges: readonly string[]): object {
  return {
    name,
    nodes: Object.entries(nodes).map(([id, fields]) => ({ id, name: id, data: {}, ...fields })),
    connections: edges.map((edge, i) => {
      const [, sourceNodeId, sign, targetNodeId] = /^(.+?)([>!])(.+)$/.exec(edge) ?? [];
      return { id: `c${i}`, sourceNodeId, targetNodeId, ...(sign === '!' ? { sourceConnectorId: 'false' } : {}) };
    }),
  };
}

const set = (fields: NodeFields): NodeFields => ({
  typeId: 'set',
  data: { fields: Object.entries(fields).map(([name, value]) => ({ name, value })) },
});

/** A list, a task for each of its items, a condition with both ways, a pinned node, a fan-in, and a branch to which nothing comes. */
export const news = ({ holdMs = 0, fail }: { readonly holdMs?: number; readonly fail?: string } = {}): object =>
  workflow(
    'Morning news',
    {
      start: { typeId: 'core/start', name: 'Every morning' },
      feeds: { typeId: 'core/hardwired', name: 'Feeds', data: { json: ['bees', 'wax', 'honey', 'swarm', 'comb'] } },
      fetch: { typeId: 'echo', name: 'Fetch the feed', kind: 'map', data: { about: '{{ $["Feeds"] }}' } },
      fresh: { typeId: 'if', name: 'Anything new?', kind: 'map', data: { condition: '{{ $["Feeds"] != "wax" }}' } },
      summary: {
        typeId: 'echo',
        name: 'Summarise',
        kind: 'map',
        data: { about: '{{ $["Feeds"] }}', delay_ms: holdMs },
      },
      archive: { typeId: 'echo', name: 'Archive', data: { pinned: true, pinnedOutput: [{ Archive: 'yesterday' }] } },
      old: { ...set({ why: 'nothing new in {{ $["Feeds"] }}' }), name: 'Note what is old' },
      join: {
        typeId: 'echo',
        name: 'Put together',
        data: { items: '{{ $items.length }}', ...(fail === undefined ? {} : { fail }) },
        ...(fail === undefined ? {} : { retry: { attempts: 1 } }),
      },
      mail: { typeId: 'echo', name: 'Send the mail', data: { to: 'ada' } },
      many: { typeId: 'if', name: 'Too many?', data: { condition: '{{ $items.length > 100 }}' } },
      alarm: { typeId: 'echo', name: 'Raise the alarm' },
    },
    [
      'start>feeds',
      'feeds>fetch',
      'fetch>fresh',
      'fresh>summary',
      'fresh!old',
      'summary>join',
      'old>join',
      'start>archive',
      'archive>join',
      'join>mail',
      'join>many',
      'many>alarm',
    ],
  );

/** Layers of 500 nodes with a fan-in after each. Each node gives one item, or they would be millions. Of each hundred nodes one is a task, which takes so long. */
export function layers(count: number, holdMs: number): object {
  const nodes: Record<string, NodeFields> = { start: { typeId: 'start' } };
  const edges: string[] = [];
  let before = ['start'];
  for (let i = 0, wide = true; i < count; wide = !wide) {
    const layer: string[] = [];
    for (let n = 0; n < (wide ? 500 : 1) && i < count; n++, i++) {
      const id = `n${i}`;
      nodes[id] = i % 100 === 5 ? { typeId: 'echo', data: { delay_ms: holdMs } } : { ...set({ i }), kind: 'array' };
      layer.push(id);
      for (const one of before) edges.push(`${one}>${id}`);
    }
    before = layer;
  }
  return workflow(`${count} nodes`, nodes, edges);
}
