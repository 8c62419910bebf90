import assert from 'node:assert/strict';
import { test } from 'node:test';
import { layoutGraph } from './graph.ts';

test('each task stands right of everything that it waits for', () => {
  const given = [
    { id: 'd', after: ['b', 'c'] },
    { id: 'a', after: [] },
    { id: 'b', after: ['a'] },
    { id: 'c', after: ['a', 'b'] },
  ];
  const { nodes, columns, rows } = layoutGraph(given);
  const column = Object.fromEntries(nodes.map((place) => [place.id, place.column]));
  assert.deepEqual(column, { a: 0, b: 1, c: 2, d: 3 });
  assert.deepEqual([columns, rows], [4, 1]);
});

test('tasks of one column have rows of their own', () => {
  const { nodes, rows } = layoutGraph([
    { id: 'a', after: [] },
    ...[1, 2, 3].map((n) => ({ id: `b${n}`, after: ['a'] })),
  ]);
  assert.equal(rows, 3);
  assert.equal(new Set(nodes.slice(1).map(({ row }) => row)).size, 3);
});

test('a circle and a name that is not there do no harm', () => {
  assert.equal(
    layoutGraph([
      { id: 'a', after: ['b', 'gone'] },
      { id: 'b', after: ['a'] },
    ]).nodes.length,
    2,
  );
});

test('a chain of thousands is laid out', () => {
  const chain = Array.from({ length: 5000 }, (_, i) => ({ id: String(i), after: i === 4999 ? [] : [String(i + 1)] }));
  assert.equal(layoutGraph(chain).columns, 5000);
});
