import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type GraphLayout, layoutGraph, NODE_HEIGHT, NODE_WIDTH } from './layout.ts';

const named = (...ids: readonly string[]) => ids.map((id) => ({ id }));

function covering({ nodes }: GraphLayout): boolean {
  return nodes.some((a, i) =>
    nodes.some((b, j) => j > i && Math.abs(a.x - b.x) < NODE_WIDTH && Math.abs(a.y - b.y) < NODE_HEIGHT),
  );
}

test('nodes stand where the workflow places them, moved to the corner', () => {
  const { nodes, width, height } = layoutGraph(
    [
      { id: 'a', x: -100, y: 50 },
      { id: 'b', x: 200, y: 250 },
    ],
    [{ from: 0, to: 1 }],
  );
  assert.deepEqual(nodes, [
    { x: 24, y: 24 },
    { x: 324, y: 224 },
  ]);
  assert.deepEqual([width, height], [324 + NODE_WIDTH + 24, 224 + NODE_HEIGHT + 24]);
});

test('places that are closer than nodes are large are drawn apart', () => {
  const layout = layoutGraph(
    [
      { id: 'a', x: 0, y: 0 },
      { id: 'b', x: 100, y: 0 },
      { id: 'c', x: 200, y: 40 },
    ],
    [],
  );
  assert.equal(covering(layout), false);
  assert.deepEqual(layout.nodes[1], { x: 224, y: 24 });
});

test('nodes that all have the same place, or of which one has none, stand in columns from what begins to what ends', () => {
  for (const nodes of [
    [
      { id: 'a', x: 0, y: 0 },
      { id: 'b', x: 0, y: 0 },
      { id: 'c', x: 0, y: 0 },
    ],
    [{ id: 'a', x: 900, y: 0 }, { id: 'b' }, { id: 'c', x: 0, y: 0 }],
  ]) {
    const layout = layoutGraph(nodes, [
      { from: 0, to: 1 },
      { from: 1, to: 2 },
    ]);
    const [a, b, c] = layout.nodes.map(({ x }) => x);
    assert.ok(a !== undefined && b !== undefined && c !== undefined && a < b && b < c);
    assert.equal(covering(layout), false);
  }
});

test('what both ways out of an "if" lead to is one line, dashed only where all of it is the other way', () => {
  const { connections } = layoutGraph(named('if', 'both', 'other'), [
    { from: 0, to: 1 },
    { from: 0, to: 1, rejected: true },
    { from: 0, to: 2, rejected: true },
  ]);
  assert.deepEqual(
    connections.map(({ from, to, rejected }) => [from, to, rejected]),
    [
      [0, 1, false],
      [0, 2, true],
    ],
  );
});

test('a fan-out of two thousand with its fan-in is a block, and no tower', () => {
  const fan = Array.from({ length: 2_000 }, (_, i) => i + 1);
  const layout = layoutGraph(named('start', ...fan.map(String), 'end'), [
    ...fan.map((to) => ({ from: 0, to })),
    ...fan.map((from) => ({ from, to: 2_001 })),
  ]);
  assert.equal(covering(layout), false);
  const aspect = layout.width / layout.height;
  assert.ok(aspect > 1.2 && aspect < 3.5, String(aspect));
  assert.equal(layout.connections.length, 4_000);
});

test('a chain of two thousand nodes, each of which leads to the last, is placed quickly', () => {
  const chain = Array.from({ length: 2_000 }, (_, i) => i);
  const { nodes, connections } = layoutGraph(named(...chain.map(String)), [
    ...chain.slice(1).map((to) => ({ from: to - 1, to })),
    ...chain.slice(0, -2).map((from) => ({ from, to: 1_999 })),
  ]);
  assert.equal(nodes.length, 2_000);
  assert.equal(connections.length, 1_999 + 1_998);
});
