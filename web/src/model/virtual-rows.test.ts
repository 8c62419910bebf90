import assert from 'node:assert/strict';
import { test } from 'node:test';
import { evenRows, nextRows, RowHeights, scrollFor, visibleRows } from './virtual-rows.ts';

const many = evenRows(100_000, 40);

test('what is seen is drawn, with some rows beyond it', () => {
  assert.deepEqual(visibleRows(many, { top: 300, seen: 800 }), { first: 0, end: 24 });
  const { first, end } = visibleRows(many, { top: -40_000, seen: 800 });
  assert.ok(first <= 992 && first > 980 && end >= 1028 && end < 1040);
});

test('no row beyond the end is drawn, and none of an empty list', () => {
  assert.deepEqual(visibleRows(many, { top: -4_000_000, seen: 800 }).end, 100_000);
  assert.deepEqual(visibleRows(evenRows(0, 40), { top: 0, seen: 800 }), { first: 0, end: 0 });
  assert.deepEqual(visibleRows(evenRows(5, 40), { top: -9e9, seen: 800 }), { first: 5, end: 5 });
  assert.deepEqual(visibleRows(new RowHeights(20).layoutOf(0, 0), { top: 0, seen: 800 }), { first: 0, end: 0 });
});

test('a small step of a scroll draws nothing new', () => {
  assert.deepEqual(visibleRows(many, { top: -4010, seen: 800 }), visibleRows(many, { top: -4030, seen: 800 }));
});

test('a row is brought into sight from either side, and one that is seen stays', () => {
  const view = { top: -400, seen: 800 };
  assert.equal(scrollFor(0, many, view, 34), -434);
  assert.equal(scrollFor(20, many, view, 34), 0);
  assert.equal(scrollFor(40, many, view, 34), 440);
});

test('after a leap what is seen is drawn alone, and then the rows around it', () => {
  const before = visibleRows(many, { top: 0, seen: 800 });
  const view = { top: -4000, seen: 800 };
  const first = nextRows(many, view, before);
  assert.equal(first.leap, true);
  assert.ok(first.rows.first <= 100 && first.rows.first > 90 && first.rows.end >= 120 && first.rows.end < 126);
  assert.deepEqual(nextRows(many, view, first.rows), { rows: visibleRows(many, view), leap: false });
});

test('a list that was scrolled out of sight has nothing to leap to', () => {
  const few = evenRows(5, 40);
  for (const top of [-9_000, -400, 900, 9_000]) {
    const { rows, leap } = nextRows(few, { top, seen: 800 }, { first: 0, end: 0 });
    assert.deepEqual([leap, nextRows(few, { top, seen: 800 }, rows).leap], [false, false], `${top}`);
  }
});

test('measured rows stand below each other, by what is known of each', () => {
  const heights = new RowHeights(20);
  assert.equal(heights.layoutOf(0, 10).height, 200);
  assert.equal(heights.set(3, 60), true);
  const layout = heights.layoutOf(0, 10);
  assert.deepEqual([0, 3, 4, 9, 10].map(layout.topOf), [0, 60, 120, 220, 240]);
  assert.deepEqual([-5, 0, 59.9, 60, 119, 120, 239, 999].map(layout.rowAt), [0, 0, 2, 3, 3, 4, 9, 9]);
});

test('a layout stays the same object until a row comes, goes or is measured anew', () => {
  const heights = new RowHeights(20);
  const layout = heights.layoutOf(0, 10);
  assert.equal(heights.layoutOf(0, 10), layout);
  assert.equal(heights.set(4, 20.2), false);
  assert.equal(heights.layoutOf(0, 10), layout);
  assert.notEqual(heights.layoutOf(0, 11), layout);
  assert.equal(layout.height, 200, 'and an old one is not touched');
});

test('dropped rows take their heights along, the others keep theirs', () => {
  const heights = new RowHeights(20);
  heights.layoutOf(0, 10);
  heights.set(1, 100);
  heights.set(5, 40);
  const layout = heights.layoutOf(4, 8);
  assert.deepEqual([layout.count, layout.height, layout.topOf(1), layout.topOf(2)], [8, 180, 20, 60]);
  assert.equal(heights.set(1, 100), false, 'what is gone has no height');
  heights.forget();
  assert.equal(heights.layoutOf(4, 8).height, 160);
});

test('measured rows are found among 100,000', () => {
  const heights = new RowHeights(20);
  heights.layoutOf(0, 100_000);
  for (let row = 0; row < 100_000; row += 7) heights.set(row, 60);
  const layout = heights.layoutOf(0, 100_000);
  for (const row of [0, 1, 6, 7, 8, 49_999, 50_001, 99_999]) {
    assert.equal(layout.rowAt(layout.topOf(row)), row);
    assert.equal(layout.rowAt(layout.topOf(row + 1) - 1), row);
  }
  const { first, end } = visibleRows(layout, { top: -layout.topOf(50_000), seen: 480 });
  assert.ok(first <= 49_992 && end >= 50_010 && end - first < 50);
});
