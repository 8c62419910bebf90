import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FORCE_AFTER_MS, StopPolicy } from './signals.ts';

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
