import assert from 'node:assert/strict';
import { test } from 'node:test';
import { diffOf } from './thing-diff.ts';

test('changed fields come first, also those that lie deeper', () => {
  const before = { strategy: 'queue', concurrent: 1, rate: { max: 5, window: '1m' }, tags: ['a', 'b'] };
  const after = { strategy: 'queue', concurrent: 2, rate: { max: 5, window: '2m' }, tags: [] };
  assert.deepEqual(
    diffOf(before, after).map(({ field, before: from, after: to, changed }) => [field, from, to, changed]),
    [
      ['concurrent', '1', '2', true],
      ['rate.window', '1m', '2m', true],
      ['tags', 'a, b', 'none', true],
      ['strategy', 'queue', 'queue', false],
      ['rate.max', '5', '5', false],
    ],
  );
});

test('a thing that was made or removed has one side, and nothing has none', () => {
  assert.deepEqual(diffOf(undefined, { paused: true }), [
    { field: 'paused', before: undefined, after: 'true', changed: true },
  ]);
  assert.deepEqual(diffOf({ nodes: [{ id: 1 }] }, null), [
    { field: 'nodes', before: '[{"id":1}]', after: undefined, changed: true },
  ]);
  assert.deepEqual([diffOf(undefined, undefined), diffOf('text', 7)], [[], []]);
});
