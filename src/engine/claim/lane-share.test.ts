import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LaneShare } from './lane-share.ts';

test('at first, and for few tasks always, as many lanes are asked as tasks', () => {
  const share = new LaneShare();
  assert.equal(share.lanes(125), 125);
  share.learn(125, 0);
  share.learn(63, 0);
  assert.deepEqual(
    [1, 15, 16].map((tasks) => share.lanes(tasks)),
    [1, 15, 16],
  );
});

test('lanes with more than they are asked for are asked for up to eight tasks each', () => {
  const share = new LaneShare();
  const asked = [125, 63, 32, 16, 16].map((lanes) => {
    share.learn(lanes, 0);
    return share.lanes(125);
  });
  assert.deepEqual(asked, [63, 32, 16, 16, 16]);
});

test('when more than a fifth of the lanes come short, it is one task per lane again', () => {
  const share = new LaneShare();
  share.learn(100, 25);
  assert.equal(share.lanes(100), 50);
  share.learn(39, 11);
  assert.equal(share.lanes(100), 100);
});

test('few lanes say nothing about many', () => {
  const share = new LaneShare();
  for (let i = 0; i < 10; i++) share.learn(1, 0);
  assert.equal(share.lanes(100), 100);
});
