import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Graph } from './definition.ts';
import { reduceGraph, startGraph } from './reduce.ts';
import { graphOf, runGraph, workflow } from './test-graphs.ts';

const START = { typeId: 'start' };
const hardwired = (...items: readonly unknown[]) => ({ typeId: 'hardwired', data: { json: JSON.stringify(items) } });
const set = (fields: Readonly<Record<string, unknown>>) => ({
  typeId: 'set',
  data: { fields: Object.entries(fields).map(([name, value]) => ({ name, value })) },
});
const kept = (ran: ReturnType<typeof runGraph>, id: string) => ran.outputs.get(id)?.kept;

describe('what flows through a graph', () => {
  test('each node adds its output to the item under its name', () => {
    const ran = runGraph(
      graphOf(
        workflow(
          {
            start: START,
            data: hardwired({ n: 1 }, { n: 2 }),
            double: set({ n: '{{ $.data.n * 2 }}', text: 'n is {{ $.data.n }}', json: '{"a":[1]}' }),
            shout: { typeId: 'transform', data: { expression: '{{ $.double.text.toUpperCase() }}' } },
          },
          ['start>data', 'data>double', 'double>shout'],
        ),
      ),
    );
    assert.deepEqual(ran.end, { do: 'complete' });
    assert.deepEqual(kept(ran, 'shout'), [
      {
        start: {},
        data: { n: 1 },
        double: { n: 2, text: 'n is 1', json: { a: [1] } },
        shout: { result: 'N IS 1' },
      },
      { data: { n: 2 }, double: { n: 4, text: 'n is 2', json: { a: [1] } }, shout: { result: 'N IS 2' } },
    ]);
  });

  test('a map node runs for each item, an array node once with the first as $, and a node may say which it is', () => {
    const data = { n: '{{ $.data.n }}', all: '{{ $items.length }}' };
    const graph = graphOf(
      workflow(
        {
          data: hardwired({ n: 1 }, { n: 2 }),
          each: { typeId: 'mine', kind: 'map', data },
          once: { typeId: 'mine', data },
        },
        ['data>each', 'data>once'],
      ),
    );
    const ran = runGraph(graph, (_, input) => (input as { n: number }).n * 10);
    assert.deepEqual(
      ran.began.filter(([id]) => id !== 'data'),
      [
        [
          'each',
          [
            { n: 1, all: 2 },
            { n: 2, all: 2 },
          ],
        ],
        ['once', [{ n: 1, all: 2 }]],
      ],
    );
    assert.deepEqual(kept(ran, 'each'), [
      { data: { n: 1 }, each: 10 },
      { data: { n: 2 }, each: 20 },
    ]);
    assert.deepEqual(kept(ran, 'once'), [{ data: { n: 1 }, once: 10 }]);
  });

  test('an array node that gives a list gives an item for each of its entries', () => {
    const ran = runGraph(graphOf(workflow({ list: { type: 'mine' } }, [])), () => ['a', 'b']);
    assert.deepEqual(kept(ran, 'list'), [{ list: 'a' }, { list: 'b' }]);
  });

  test('a node with several connections waits for all of them and gets the items of all', () => {
    const ran = runGraph(
      graphOf(
        workflow(
          { start: START, a: set({ v: 'a' }), b: { typeId: 'mine' }, join: set({ v: '{{ $.a ? $.a.v : $.b }}' }) },
          ['start>a', 'start>b', 'b>join', 'a>join'],
        ),
      ),
      () => 'b',
    );
    assert.deepEqual(
      kept(ran, 'join')?.map(({ join }) => join),
      [{ v: 'b' }, { v: 'a' }],
    );
    assert.equal(ran.began.filter(([id]) => id === 'join').length, 1);
  });

  test('nothing runs behind an output without items, and what joins another branch runs with that one', () => {
    const ran = runGraph(
      graphOf(
        workflow(
          {
            start: START,
            none: { typeId: 'if', data: { condition: '{{ false }}' } },
            behind: { typeId: 'mine' },
            after: { typeId: 'mine' },
            other: set({ v: 1 }),
            join: { typeId: 'mine', data: { items: '{{ $items.length }}' } },
          },
          ['start>none', 'none>behind', 'behind>after', 'start>other', 'after>join', 'other>join'],
        ),
      ),
    );
    assert.deepEqual(
      ran.began.filter(([, inputs]) => inputs.length > 0),
      [['join', [{ items: 1 }]]],
    );
    assert.deepEqual(ran.end, { do: 'complete' });
    const states = ran.snapshot.nodes;
    assert.deepEqual([states.get(2).at, states.get(3).at, ran.snapshot.open], ['skipped', 'skipped', 0]);
  });

  test('a node "if" passes items on as they came: all or none by the first, or each by itself, and the others by another way', () => {
    const nodes = (kind: 'map' | 'array') => ({
      data: hardwired({ n: 1 }, { n: 2 }, { n: 3 }),
      big: { typeId: 'if', kind, data: { condition: '{{ $.data.n >= 2 }}' } },
      yes: set({}),
      no: set({}),
    });
    const sizes = (kind: 'map' | 'array') => {
      const { outputs } = runGraph(graphOf(workflow(nodes(kind), ['data>big', 'big>yes', 'big!no'])));
      return ['yes', 'no'].map((id) => outputs.get(id)?.kept.map(({ data }) => (data as { n: number }).n));
    };
    assert.deepEqual(sizes('map'), [[2, 3], [1]]);
    assert.deepEqual(sizes('array'), [undefined, [1, 2, 3]]);
  });

  test('a condition that is a text is met unless it says no', () => {
    for (const [condition, met] of Object.entries({
      true: true,
      False: false,
      '0': false,
      ' ': false,
      yes: true,
      null: false,
    })) {
      const { outputs } = runGraph(graphOf(workflow({ if: { typeId: 'if', data: { condition } } }, [])));
      assert.equal(outputs.get('if')?.kept.length, met ? 1 : 0, condition);
    }
  });

  test('triggers give the items of the run, or say when they fired; of several only the one that fired', () => {
    const graph = graphOf(
      workflow({ start: START, tick: { typeId: 'scheduled' }, join: set({}) }, ['start>join', 'tick>join']),
    );
    assert.deepEqual(kept(runGraph(graph), 'join'), [
      { start: {}, join: {} },
      { tick: { time: '1970-01-01T00:00:00.000Z' }, join: {} },
    ]);
    assert.deepEqual(kept(runGraph(graph, undefined, { trigger: 0, input: { order: 7 } }), 'join'), [
      { start: { order: 7 }, join: {} },
    ]);
  });
});

describe('a run of a graph', () => {
  const diamond = workflow(
    { start: START, a: { typeId: 'one' }, b: { typeId: 'two' }, c: { typeId: 'three' }, end: { typeId: 'four' } },
    ['start>a', 'a>b', 'a>c', 'b>end', 'c>end'],
  );

  test('ends up to a node with that node and what it needs', () => {
    const ran = runGraph(graphOf(diamond), undefined, { upTo: 2 });
    assert.deepEqual(
      ran.began.map(([id]) => id),
      ['start', 'a', 'b'],
    );
    assert.deepEqual([ran.end, ran.snapshot.nodes.get(4).at], [{ do: 'complete' }, 'outside']);
  });

  test('takes what is pinned in place of running the node, and needs nothing before it up to a node', () => {
    const pinned = (place: 'node' | 'data') => {
      const pin = { pinned: true, pinnedOutput: [{ a: 1 }, { a: 2 }] };
      const value = structuredClone(diamond) as { nodes: Record<string, unknown>[] };
      value.nodes[1] = { ...value.nodes[1], ...(place === 'node' ? pin : { data: pin }) };
      return graphOf(value);
    };
    for (const place of ['node', 'data'] as const) {
      const ran = runGraph(pinned(place), undefined, { upTo: 2 });
      assert.deepEqual(ran.began, [['b', [{}]]]);
      const whole = runGraph(pinned(place));
      assert.deepEqual(whole.began.map(([id]) => id).sort(), ['b', 'c', 'end', 'start']);
    }
  });

  test('begins nothing more after a failure, lets what runs end, and then fails with the first', () => {
    const graph = graphOf(diamond);
    let { snapshot } = startGraph(graph);
    for (const node of [0, 1])
      ({ snapshot } = reduceGraph(graph, snapshot, { kind: 'ended', node, kept: 1, rejected: 0 }));
    const failed = reduceGraph(graph, snapshot, { kind: 'failed', node: 2, type: 'Error', message: 'no disk' });
    assert.deepEqual([failed.commands, failed.snapshot.running], [[], 1]);
    const ended = reduceGraph(graph, failed.snapshot, { kind: 'ended', node: 3, kept: 1, rejected: 0 });
    assert.deepEqual(ended.commands, [{ do: 'fail', failure: { node: 2, type: 'Error', message: 'no disk' } }]);
  });

  test('is not changed by an event that comes twice, nor is the snapshot before it', () => {
    const graph = graphOf(diamond);
    const first = startGraph(graph);
    const before = JSON.stringify(graph.nodes.map(({ index }) => first.snapshot.nodes.get(index)));
    const event = { kind: 'ended', node: 0, kept: 1, rejected: 0 } as const;
    const once = reduceGraph(graph, first.snapshot, event);
    assert.deepEqual(reduceGraph(graph, once.snapshot, event), { snapshot: once.snapshot, commands: [] });
    assert.equal(JSON.stringify(graph.nodes.map(({ index }) => first.snapshot.nodes.get(index))), before);
  });

  test('goes over each connection once, whatever the fan-out', () => {
    for (const layers of [4, 19]) {
      const graph = counted(graphOf(layered(layers, 500)));
      assert.equal(graph.nodes.length, 1 + layers * 501);
      let { snapshot, commands } = startGraph(graph);
      const queue = [...commands];
      for (const command of queue) {
        if (command.do !== 'run') continue;
        ({ snapshot, commands } = reduceGraph(graph, snapshot, {
          kind: 'ended',
          node: command.node,
          kept: 1,
          rejected: 0,
        }));
        queue.push(...commands);
      }
      assert.deepEqual(queue.at(-1), { do: 'complete' });
      assert.equal(
        graph.reads,
        graph.nodes.reduce((sum, { outgoing }) => sum + outgoing.length, 0),
      );
    }
  });
});

/** Layers of so many nodes, each layer behind the join of the one before. */
function layered(layers: number, wide: number): object {
  const nodes: Record<string, object> = { 'join 0': START };
  const edges: string[] = [];
  for (let layer = 1; layer <= layers; layer++) {
    for (let i = 0; i < wide; i++) {
      nodes[`n ${layer}.${i}`] = { typeId: 'mine' };
      edges.push(`join ${layer - 1}>n ${layer}.${i}`, `n ${layer}.${i}>join ${layer}`);
    }
    nodes[`join ${layer}`] = { typeId: 'mine' };
  }
  return workflow(nodes as never, edges);
}

/** Counts how often a connection is looked at. */
function counted(graph: Graph): Graph & { readonly reads: number } {
  const count = { reads: 0 };
  const nodes = graph.nodes.map((node) => ({
    ...node,
    outgoing: new Proxy(node.outgoing, {
      get: (of, key, own) => {
        if (typeof key === 'string' && /^\d+$/.test(key)) count.reads++;
        return Reflect.get(of, key, own);
      },
    }),
  }));
  return Object.defineProperty({ ...graph, nodes } as never, 'reads', { get: () => count.reads });
}
