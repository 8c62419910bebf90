import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Value } from '../expression/values.ts';
import { changesBetween, same } from './changes.ts';
import { workflow } from './test-graphs.ts';

const text = workflow({ a: { typeId: 'start' }, b: { typeId: 'set', data: { fields: [] } } }, ['a>b']) as Value;

test('a workflow that says the same in another order has no changes', () => {
  const turned = JSON.parse('{"connections":[],"nodes":{"a":{"data":{},"typeId":"start"}}}') as Value;
  const straight = { nodes: { a: { typeId: 'start', data: {} } }, connections: [] } as Value;
  assert.deepEqual(changesBetween(straight, turned), []);
  assert.ok(same(straight, turned));
  assert.ok(!same([1, 2], [2, 1]));
});

test('the nodes, fields, connections and settings that differ are named', () => {
  const next = workflow(
    { a: { typeId: 'start' }, b: { typeId: 'set', data: { fields: [1] }, timeout: 5 }, c: { typeId: 'echo' } },
    ['a>c'],
    { settings: { dataDirectory: 'x' } },
  ) as Value;
  const told = changesBetween(text, next).map(({ change, what, fields = [] }) => [change, what, ...fields]);
  assert.deepEqual(told, [
    ['changed', 'node b', 'data', 'timeout'],
    ['added', 'node c'],
    ['added', 'connection a -> c'],
    ['added', 'settings'],
    ['removed', 'connection a -> b'],
  ]);
});

test('without an earlier one all is new', () => {
  assert.deepEqual(
    changesBetween(undefined, text).map(({ change, what }) => `${change} ${what}`),
    ['added node a', 'added node b', 'added connection a -> b'],
  );
});
