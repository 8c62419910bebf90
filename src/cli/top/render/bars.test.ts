import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bar, spark } from './bars.ts';

test('a bar is full when nothing is left, and empty when nothing is used, and only then', () => {
  assert.equal(bar(0, 1000, 5), '░░░░░');
  assert.equal(bar(1, 1000, 5), '█░░░░');
  assert.equal(bar(999, 1000, 5), '████░');
  assert.equal(bar(1000, 1000, 5), '█████');
  assert.equal(bar(2000, 1000, 5), '█████');
});

test('of no room at all, any use is too much', () => {
  assert.equal(bar(0, 0, 3), '░░░');
  assert.equal(bar(1, 0, 3), '███');
});

test('a spark line shows the last figures, and where nothing is known', () => {
  assert.equal(spark([9, null, 0, 1, 4, 8], 5), '·▁▂▅█');
  assert.equal(spark([0, 0], 5), '▁▁');
  assert.equal(spark([], 5), '');
});
