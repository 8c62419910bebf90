import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ClockReading, setBackBy } from './clock-step.ts';

const HOUR = 3_600_000;

/** A reading that took no time. */
const at = (shows: number, monotonic: number): ClockReading => ({ shows, sentAt: monotonic, heardAt: monotonic });

test('a clock that goes with ours was not set back', () => {
  assert.equal(setBackBy(at(50_000, 100), at(51_000, 1100)), 0);
});

test('a clock that is set back is noticed by as much, the time between the readings included', () => {
  assert.equal(setBackBy(at(50_000 + HOUR, 100), at(51_000, 1100)), HOUR);
  assert.equal(setBackBy(at(50_000, 100), at(49_000, 1100)), 2000);
});

test('only what is certain counts: the journeys of question and answer may have taken all of the time', () => {
  const before = { shows: 50_000 + HOUR, sentAt: 100, heardAt: 900 };
  assert.equal(setBackBy(before, { shows: 51_000, sentAt: 1100, heardAt: 1900 }), HOUR - 800);
  assert.equal(setBackBy(before, { shows: 51_000, sentAt: 500, heardAt: 1900 }), HOUR - 1000);
});

test('a clock that is disciplined, stood still or was set ahead moves nothing', () => {
  assert.equal(setBackBy(at(50_000, 100), at(49_001, 1100)), 0);
  assert.equal(setBackBy(at(50_000, 100), at(50_000, HOUR)), 0);
  assert.equal(setBackBy(at(50_000, 100), at(50_000 + HOUR, 1100)), 0);
});

test('the answer is in whole milliseconds', () => {
  assert.equal(setBackBy(at(50_000, 100.25), at(40_000, 1100.5)), 11_000);
});
