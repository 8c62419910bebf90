import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FORCE_AFTER_MS, StopPolicy } from './stop-signals.ts';

test('the first signal stops', () => {
  assert.equal(new StopPolicy().heard(5), 'stop');
});

test('a signal that follows within 300 ms is the same Ctrl-C, told twice', () => {
  const policy = new StopPolicy();
  policy.heard(1000);
  for (const later of [0, 2, FORCE_AFTER_MS - 0.001]) assert.equal(policy.heard(1000 + later), 'nothing');
});

test('a signal 300 ms after the first forces, whatever came between', () => {
  const policy = new StopPolicy();
  policy.heard(1000);
  policy.heard(1299);
  assert.equal(policy.heard(1000 + FORCE_AFTER_MS), 'force');
  assert.equal(policy.heard(9000), 'force');
});

test('what says that a second signal forces agrees with what a second signal does', () => {
  const policy = new StopPolicy();
  policy.heard(1000);
  assert.equal(policy.forceableIn(1000), FORCE_AFTER_MS);
  assert.ok(
    policy.forceableIn(1000 + FORCE_AFTER_MS - 0.5) > 0,
    'a timer that fires half a millisecond early waits on',
  );
  assert.equal(policy.forceableIn(1000 + FORCE_AFTER_MS), 0);
  assert.equal(policy.heard(1000 + FORCE_AFTER_MS), 'force');
});
