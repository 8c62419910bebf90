import assert from 'node:assert/strict';
import { test } from 'node:test';
import { barsOf, brushRange, polylinesOf, ticksOf } from './histogram.ts';

const none = { ready: 0, running: 0, scheduled: 0, waiting: 0, completed: 0, failed: 0, cancelled: 0 };
const histogram = {
  from: 1000,
  stepMs: 100,
  buckets: [{ ...none, completed: 3, failed: 1 }, none, { ...none, ready: 2 }],
};

test('bars are as high as their counts, with failures at the bottom', () => {
  const [first, empty, last] = barsOf(histogram);
  assert.deepEqual(first?.segments, [
    { state: 'failed', count: 1, from: 0, to: 0.25 },
    { state: 'completed', count: 3, from: 0.25, to: 1 },
  ]);
  assert.deepEqual([empty?.total, empty?.segments.length], [0, 0]);
  assert.deepEqual([last?.at, last?.until, last?.segments[0]?.to], [1200, 1300, 0.5]);
});

test('one task beside thousands is still seen', () => {
  const [, small] = barsOf({
    ...histogram,
    buckets: [
      { ...none, ready: 100_000 },
      { ...none, failed: 1 },
    ],
  });
  assert.equal(small?.segments[0]?.to, 0.04);
});

test('a brush takes the whole steps that it touches, from either side', () => {
  assert.deepEqual(brushRange(0.4, 0.1, histogram), { from: 1000, until: 1200 });
  assert.deepEqual(brushRange(-1, 2, histogram), { from: 1000, until: 1300 });
  assert.deepEqual(brushRange(0.99, 0.99, histogram), { from: 1200, until: 1300 });
});

test('marks of an axis are few and round', () => {
  const hour = 3_600_000;
  const ticks = ticksOf(1_700_000_123_456, 1_700_000_123_456 + hour, 6);
  assert.ok(ticks.length <= 7 && ticks.length >= 5);
  assert.ok(ticks.every((at) => at % 600_000 === 0));
  assert.deepEqual(ticksOf(5, 5, 6), []);
});

test('a line has a gap where nothing is known', () => {
  assert.deepEqual(polylinesOf([0, 1, null, 2, 2], 100, 10), ['0,10 25,5', '75,0 100,0']);
  assert.deepEqual(polylinesOf([], 100, 10), []);
});
