import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isApart, scrollFor, visibleRows } from './virtual-rows.ts';

const list = { seen: 800, height: 40, count: 100_000 };

test('what is seen is drawn, with some rows beyond it', () => {
  assert.deepEqual(visibleRows({ ...list, top: 300 }), { first: 0, end: 24 });
  const { first, end } = visibleRows({ ...list, top: -40_000 });
  assert.ok(first <= 992 && first > 980 && end >= 1028 && end < 1040);
});

test('no row beyond the end is drawn, and none of an empty list', () => {
  assert.deepEqual(visibleRows({ ...list, top: -4_000_000 }).end, 100_000);
  assert.deepEqual(visibleRows({ ...list, count: 0, top: 0 }), { first: 0, end: 0 });
  assert.deepEqual(visibleRows({ ...list, count: 5, top: -9e9 }), { first: 5, end: 5 });
});

test('a small step of a scroll draws nothing new', () => {
  assert.deepEqual(visibleRows({ ...list, top: -4010 }), visibleRows({ ...list, top: -4030 }));
});

test('a row is brought into sight from either side, and one that is seen stays', () => {
  const view = { top: -400, seen: 800, height: 40, stuck: 34 };
  assert.equal(scrollFor(0, view), -434);
  assert.equal(scrollFor(20, view), 0);
  assert.equal(scrollFor(40, view), 440);
});

test('after a leap what is seen can be drawn alone, and nothing of before is among it', () => {
  const before = visibleRows({ top: 0, seen: 800, count: 1000, height: 40 });
  const where = { top: -4000, seen: 800, count: 1000, height: 40 };
  const [whole, seen] = [visibleRows(where), visibleRows({ ...where, beyond: 0 })];
  assert.equal(isApart(before, whole), true);
  assert.equal(isApart(whole, seen), false);
  assert.ok(seen.end - seen.first < (whole.end - whole.first) * 0.7);
  assert.ok(seen.first <= 100 && seen.end >= 120);
});
