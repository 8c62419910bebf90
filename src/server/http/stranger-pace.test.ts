import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StrangerPace } from './stranger-pace.ts';

const TERMS = { perSecond: 10, burst: 3, refusedMs: 1000, answeredMs: 200 };

test('answers within the burst and the rate do not wait, all others do', () => {
  let now = 0;
  const pace = new StrangerPace(TERMS, () => now);
  const take = (count: number, status = 401): number[] => Array.from({ length: count }, () => pace.waitMs(status));
  assert.deepEqual(take(5), [0, 0, 0, 1000, 1000]);
  assert.deepEqual(take(2, 200), [200, 200]);
  // A fault of the node is no guess.
  assert.deepEqual(take(1, 503), [200]);
  now = 100;
  assert.deepEqual(take(2), [0, 1000]);
  now = 60_000;
  assert.deepEqual(take(4), [0, 0, 0, 1000]);
});

test('a rate of zero lets nothing wait', () => {
  const pace = new StrangerPace({ ...TERMS, perSecond: 0, burst: 0 }, () => 0);
  assert.equal(pace.waitMs(401), 0);
});
