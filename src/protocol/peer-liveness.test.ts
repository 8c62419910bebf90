import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PeerLiveness, TICKS, tickMsOf } from './peer-liveness.ts';

test('who was heard is not asked, and two questions without an answer are a long silence', () => {
  const liveness = new PeerLiveness();
  assert.deepEqual([liveness.tick(), liveness.isDead], [false, false]);
  assert.deepEqual([liveness.tick(), liveness.isDead], [true, false]);
  liveness.heard();
  assert.deepEqual([liveness.tick(), liveness.isDead], [false, false]);
  assert.deepEqual([liveness.tick(), liveness.isDead], [true, false]);
  assert.deepEqual([liveness.tick(), liveness.isDead], [true, false]);
  assert.deepEqual([liveness.tick(), liveness.isDead], [true, true]);
  liveness.heard();
  assert.equal(liveness.isDead, false);
});

test('with nothing at stake ten seconds are one part of the silence, and from the first lease on each tick is', () => {
  const liveness = new PeerLiveness(2500);
  const idle = (): readonly boolean[] => Array.from({ length: 4 }, () => liveness.tick(false));
  assert.deepEqual(idle(), [false, false, false, false], 'ten seconds of which it was heard before them');
  assert.deepEqual(idle(), [false, false, false, true]);
  assert.deepEqual([liveness.tick(true), liveness.tick(true), liveness.isDead], [true, true, true]);
});

test('a silence shows within a third of a lease, and pings come neither too often nor too seldom', () => {
  for (const leaseMs of [1200, 2500, 30_000, 90_000])
    assert.ok(TICKS * tickMsOf(leaseMs) <= leaseMs / 3 + 0.001, `${leaseMs}`);
  assert.equal(tickMsOf(10), 100);
  assert.equal(tickMsOf(86_400_000), 10_000);
});
