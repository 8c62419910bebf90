import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Count, rateOf, withCount } from './rates.ts';

const count = (at: number, ended: number): Count => ({ at, ended: new Map([['a', ended]]) });

test('one look has no rate', () => {
  assert.equal(rateOf(withCount([], count(0, 10)), 'a'), undefined);
});

test('a rate is what ended over the last five seconds', () => {
  let counts: readonly Count[] = [];
  for (let second = 0; second <= 10; second += 1)
    counts = withCount(counts, count(second * 1000, second < 5 ? 0 : (second - 5) * 4));
  assert.equal(counts.length, 6);
  assert.equal(rateOf(counts, 'a'), 4);
});

test('looks that are further apart than that still make a rate', () => {
  const counts = withCount(withCount([], count(0, 0)), count(20_000, 40));
  assert.equal(rateOf(counts, 'a'), 2);
});

test('a clock that was set back, and a queue that begins anew, make no rate below zero', () => {
  assert.equal(rateOf(withCount([count(9000, 5)], count(1000, 6)), 'a'), undefined);
  assert.equal(rateOf([count(0, 5), count(1000, 0)], 'a'), 0);
});
