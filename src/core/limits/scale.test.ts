import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ScaleFacts, scaleOf } from './scale.ts';

const scale = (facts: Partial<ScaleFacts>): readonly number[] => {
  const said = scaleOf({ ready: 0, running: 0, paused: false, limited: [], free: undefined, ...facts });
  return [said.runnable, said.running, said.blockedByLimit, said.desired];
};
const lane = (ready: number, room: number, capped = false) => ({ ready, room, capped });

test('without limits all ready tasks could run', () => {
  assert.deepEqual(scale({ ready: 2_000_000, running: 5 }), [2_000_000, 5, 0, 2_000_005]);
  assert.deepEqual(scale({}), [0, 0, 0, 0]);
});

test('no task of a paused queue could run, and no limit is to blame', () => {
  assert.deepEqual(scale({ ready: 9, running: 2, paused: true, limited: [lane(9, 0)] }), [0, 2, 0, 2]);
});

test('tasks that their limits do not let start are blocked by limits', () => {
  assert.deepEqual(scale({ ready: 10, running: 3, limited: [lane(10, 4)] }), [4, 3, 6, 7]);
  assert.deepEqual(scale({ ready: 10, limited: [lane(3, 9), lane(5, 1)] }), [6, 0, 4, 6], 'two of them take of none');
  assert.deepEqual(scale({ ready: 3, limited: [lane(3, 100)] }), [3, 0, 0, 3]);
});

test('the length of a lane that was not counted to its end follows from the counter, if the others were', () => {
  assert.deepEqual(scale({ ready: 2_000_000, limited: [lane(1000, 7, true)], free: [] }), [7, 0, 1_999_993, 7]);
  const mixed = { ready: 2_000_000, limited: [lane(1000, 7, true)], free: [{ ready: 40, capped: false }] };
  assert.deepEqual(scale(mixed), [47, 0, 1_999_953, 47]);
  assert.deepEqual(scale({ ready: 5000, limited: [lane(1000, 4000, true)], free: [] }), [4000, 0, 1000, 4000]);
  assert.deepEqual(scale({ ready: 5000, limited: [lane(1000, 1e9, true)], free: [] }), [5000, 0, 0, 5000]);
});

test('where both kinds have long lanes, tasks that were not counted are taken as runnable', () => {
  const both = { ready: 2_000_000, limited: [lane(1000, 7, true)], free: [{ ready: 1000, capped: true }] };
  assert.deepEqual(scale(both), [1_999_007, 0, 993, 1_999_007]);
  assert.deepEqual(scale({ ...both, free: undefined }), [1_999_007, 0, 993, 1_999_007]);
});

test('a counter that is a moment older than the lanes makes nothing negative', () => {
  assert.deepEqual(scale({ ready: 2, limited: [lane(5, 0)] }), [0, 0, 2, 0]);
  assert.deepEqual(scale({ ready: 0, limited: [lane(5, 9)] }), [0, 0, 0, 0]);
  assert.deepEqual(scale({ ready: 3, limited: [lane(9, 0, true)], free: [{ ready: 5, capped: false }] }), [0, 0, 3, 0]);
});
