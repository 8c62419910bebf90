import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type DiagramState, layoutDiagram, STATE_HEIGHT, STATE_WIDTH } from './diagram.ts';

function state(
  name: string,
  to: readonly string[] = [],
  onError: readonly string[] = [],
  type = 'state',
): DiagramState {
  return { name, type, does: 'action', to: to.map((one) => ({ state: one })), onError, visits: 0 };
}

const REVIEW = [
  state('start', ['draft'], [], 'initial'),
  state('draft', ['review'], ['failed']),
  state('review', ['draft', 'publish']),
  state('publish', ['done'], ['failed']),
  state('done', [], [], 'final'),
  state('failed', [], [], 'final'),
];

const columnsIn = (states: readonly DiagramState[]): Readonly<Record<string, number>> =>
  Object.fromEntries(layoutDiagram(states).states.map(({ name, column }) => [name, column]));

test('states stand in columns, each after all that lead to it', () => {
  assert.deepEqual(columnsIn(REVIEW), { start: 0, draft: 1, review: 2, publish: 3, done: 4, failed: 4 });
});

test('a transition that closes a loop leads back, below all states', () => {
  const { edges, states, height } = layoutDiagram(REVIEW);
  assert.deepEqual(
    edges.filter(({ back }) => back).map(({ from, to }) => [from, to]),
    [['review', 'draft']],
  );
  const path = edges.find(({ back }) => back)?.path ?? '';
  const deepest = Math.max(...[...path.matchAll(/V([\d.]+)/g)].map(([, y]) => Number(y)));
  const lowest = Math.max(...states.map(({ y }) => y + STATE_HEIGHT));
  assert.ok(deepest > lowest && deepest < height, `${deepest} of ${lowest} to ${height}`);
});

test('loops that overlap have lanes of their own', () => {
  const { edges } = layoutDiagram([
    state('a', ['b'], [], 'initial'),
    state('b', ['c', 'a']),
    state('c', ['d', 'b']),
    state('d', ['a']),
  ]);
  const paths = edges.filter(({ back }) => back).map(({ path }) => path);
  assert.equal(paths.length, 3);
  assert.equal(new Set(paths.map((path) => path.match(/V([\d.]+)/)?.[1])).size, 3);
});

test('no two states overlap, and all of them and their edges are within the picture', () => {
  const wide = [
    state('in', ['a', 'b', 'c', 'd', 'out'], ['lost'], 'initial'),
    ...['a', 'b', 'c', 'd'].map((name) => state(name, ['join'], ['lost'])),
    state('join', ['out', 'in', 'join']),
    state('out', [], [], 'final'),
    state('lost', [], [], 'final'),
    state('island', ['out']),
  ];
  const { states, edges, width, height } = layoutDiagram(wide);
  for (const [i, a] of states.entries()) {
    assert.ok(a.x >= 0 && a.y >= 0 && a.x + STATE_WIDTH <= width && a.y + STATE_HEIGHT <= height, a.name);
    for (const b of states.slice(i + 1))
      assert.ok(a.column !== b.column || Math.abs(a.y - b.y) >= STATE_HEIGHT, `${a.name} and ${b.name}`);
  }
  assert.ok(edges.every(({ path }) => path.startsWith('M') && !path.includes('NaN')));
});

test('an error route is dashed unless a transition leads to the same state, and unknown states are left out', () => {
  const { edges } = layoutDiagram([
    state('a', ['b', 'nowhere'], ['b', 'c'], 'initial'),
    state('b', [], [], 'final'),
    state('c', [], [], 'final'),
  ]);
  assert.deepEqual(
    edges.map(({ from, to, error }) => [from, to, error]),
    [
      ['a', 'b', false],
      ['a', 'c', true],
    ],
  );
});

test('the main way of a machine is a straight line', () => {
  const at = new Map(layoutDiagram(REVIEW).states.map(({ name, y }) => [name, y]));
  for (const name of ['draft', 'review', 'publish', 'done']) assert.equal(at.get(name), at.get('start'), name);
});

test('a machine without states, and one of a thousand in a row, are drawn', () => {
  assert.deepEqual(layoutDiagram([]).states, []);
  const long = Array.from({ length: 1000 }, (_, i) => state(`s${i}`, [`s${i + 1}`], [], i === 0 ? 'initial' : 'state'));
  assert.equal(columnsIn(long)['s999'], 999);
});

test('error routes to one state are one line, which the others join', () => {
  const { edges } = layoutDiagram([
    state('a', ['b'], ['failed'], 'initial'),
    state('b', ['c'], ['failed']),
    state('c', ['d'], ['failed']),
    state('d', [], ['failed']),
    state('failed', [], [], 'final'),
  ]);
  assert.deepEqual(
    edges.filter(({ error }) => error).map(({ from, joins }) => [from, joins]),
    [
      ['a', false],
      ['b', true],
      ['c', true],
      ['d', false],
    ],
  );
});
