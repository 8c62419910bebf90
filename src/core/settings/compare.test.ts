import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compareThings, type Entry, fieldsBetween, isSame } from './compare.ts';

const things = (some: Readonly<Record<string, Entry>>) => new Map(Object.entries(some));

test('what is wanted and is not there is made, what differs is changed, and the rest stays', () => {
  const is = things({ same: { a: 1 }, other: { a: 1, b: { c: 2, d: 3 } }, more: {} });
  const wanted = things({ new: { x: [1] }, same: { a: 1 }, other: { b: { c: 5, d: 3 }, e: null } });
  assert.deepEqual(compareThings(wanted, is, { prune: false }), [
    { name: 'new', does: 'create', fields: [{ path: 'x', to: [1] }] },
    {
      name: 'other',
      does: 'change',
      fields: [
        { path: 'a', from: 1 },
        { path: 'b.c', from: 2, to: 5 },
        { path: 'e', to: null },
      ],
    },
  ]);
});

test('only a prune removes what is not wanted', () => {
  const is = things({ a: { x: 1 }, b: {} });
  assert.deepEqual(compareThings(things({ b: {} }), is, { prune: false }), []);
  assert.deepEqual(compareThings(things({ b: {} }), is, { prune: true }), [
    { name: 'a', does: 'remove', fields: [{ path: 'x', from: 1 }] },
  ]);
});

test('changes come in the order of their names, whatever they do', () => {
  const wanted = things({ c: { x: 1 }, a: { x: 1 }, e: { x: 2 } });
  const is = things({ d: {}, b: {}, e: { x: 1 } });
  const names = compareThings(wanted, is, { prune: true }).map(({ name }) => name);
  assert.deepEqual(names, ['a', 'b', 'c', 'd', 'e']);
});

test('the order of fields is no difference, and the order of a list is one', () => {
  assert.deepEqual(fieldsBetween({ a: { x: 1, y: [{ p: 1, q: 2 }] } }, { a: { y: [{ q: 2, p: 1 }], x: 1 } }), []);
  assert.equal(isSame([1, 2], [2, 1]), false);
  assert.equal(isSame([1], [1, 2]), false);
  assert.equal(isSame({ a: 1 }, [1]), false);
  assert.equal(isSame(null, {}), false);
  assert.deepEqual(fieldsBetween({ toString: 1 }, {}), [{ path: 'toString', from: 1 }]);
  assert.deepEqual(fieldsBetween({}, { a: { b: 1 } }), [{ path: 'a', to: { b: 1 } }]);
});

test('settings that are made from what is lead to no change, whatever they are', () => {
  let seed = 1;
  const random = (n: number): number => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % n;
  };
  const value = (depth: number): unknown => {
    const kind = random(depth > 2 ? 3 : 5);
    if (kind === 3) return Array.from({ length: random(4) }, () => value(depth + 1));
    if (kind === 4) return Object.fromEntries(Array.from({ length: random(4) }, (_, i) => [`k${i}`, value(depth + 1)]));
    return [null, random(9), `t${random(9)}`][kind];
  };
  for (let i = 0; i < 300; i++) {
    const entry = { v: value(0) };
    const copy = JSON.parse(JSON.stringify(entry)) as Entry;
    assert.deepEqual(fieldsBetween(entry, copy), []);
    assert.deepEqual(compareThings(things({ a: copy }), things({ a: entry }), { prune: true }), []);
    const other = { v: [entry.v, 1] };
    assert.equal(fieldsBetween(entry, other).length > 0, true);
  }
});
