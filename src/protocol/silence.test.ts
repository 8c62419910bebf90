import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pingMsOf, Silence } from './silence.ts';

test('two pings without an answer are a long silence, and any answer ends it', () => {
  const silence = new Silence();
  silence.asked();
  assert.equal(silence.isLong, false);
  silence.asked();
  assert.equal(silence.isLong, true);
  silence.heard();
  assert.equal(silence.isLong, false);
  silence.asked();
  assert.equal(silence.isLong, false);
});

test('a silence shows within a third of a lease, and pings come neither too often nor too seldom', () => {
  for (const leaseMs of [900, 2500, 30_000, 90_000])
    assert.ok(3 * pingMsOf(leaseMs) <= leaseMs / 3 + 0.001, `${leaseMs}`);
  assert.equal(pingMsOf(10), 100);
  assert.equal(pingMsOf(86_400_000), 10_000);
});
