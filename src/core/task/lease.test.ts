import assert from 'node:assert/strict';
import { test } from 'node:test';
import { afterExpiry, afterFailure, afterRelease, DEFAULT_LEASE_MS, MAX_BOUNCES } from './lease.ts';
import type { RetryPolicy } from './retry.ts';

const RETRY: RetryPolicy = { baseMs: 1000, factor: 2, maxMs: 60_000, jitter: 0 };

test('a failed attempt is tried again after a backoff that grows with the tries used', () => {
  assert.deepEqual(afterFailure({ tries: 1, maxTries: 4 }, RETRY, 0), { to: 'again', delayMs: 1000 });
  assert.deepEqual(afterFailure({ tries: 2, maxTries: 4 }, RETRY, 0), { to: 'again', delayMs: 2000 });
  assert.deepEqual(afterFailure({ tries: 3, maxTries: 4 }, RETRY, 0), { to: 'again', delayMs: 4000 });
});

test('a failed attempt that was the last try ends the task as exhausted', () => {
  assert.deepEqual(afterFailure({ tries: 4, maxTries: 4 }, RETRY, 0), { to: 'failed', reason: 'exhausted' });
  assert.deepEqual(afterFailure({ tries: 9, maxTries: 4 }, RETRY, 0), { to: 'failed', reason: 'exhausted' });
  assert.deepEqual(afterFailure({ tries: 1, maxTries: 1 }, RETRY, 0), { to: 'failed', reason: 'exhausted' });
});

test('randomness shortens the backoff by no more than the jitter', () => {
  const jittery = { ...RETRY, jitter: 0.5 };
  assert.deepEqual(afterFailure({ tries: 1, maxTries: 4 }, jittery, 0.999_999), { to: 'again', delayMs: 501 });
});

test('the first lost lease is blamed on the worker: again at once', () => {
  const lease = { tries: 1, maxTries: 3, cancelRequested: false };
  assert.deepEqual(afterExpiry(lease, RETRY, 0), { to: 'again', delayMs: 0 });
});

test('a lost lease whose try was given back counts as the first', () => {
  const lease = { tries: 0, maxTries: 3, cancelRequested: false };
  assert.deepEqual(afterExpiry(lease, RETRY, 0), { to: 'again', delayMs: 0 });
});

test('later lost leases are blamed on the task: again after a backoff', () => {
  const lease = { tries: 2, maxTries: 3, cancelRequested: false };
  assert.deepEqual(afterExpiry(lease, RETRY, 0), { to: 'again', delayMs: 2000 });
});

test('a task that loses its last lease ends as exhausted, so that a task that kills its worker does not loop', () => {
  const lease = { tries: 3, maxTries: 3, cancelRequested: false };
  assert.deepEqual(afterExpiry(lease, RETRY, 0), { to: 'failed', reason: 'exhausted' });
});

test('a task that was asked to stop is cancelled when its lease is lost, whatever its tries', () => {
  for (const tries of [1, 2, 3]) {
    const lease = { tries, maxTries: 3, cancelRequested: true };
    assert.deepEqual(afterExpiry(lease, RETRY, 0), { to: 'cancelled', reason: 'requested' });
  }
});

test('a released task comes back after the delay of its worker', () => {
  assert.deepEqual(afterRelease(0, false, 0), { to: 'again', delayMs: 0 });
  assert.deepEqual(afterRelease(0, false, 5000), { to: 'again', delayMs: 5000 });
});

test('a task that bounces twenty times in a row is undeliverable', () => {
  assert.equal(MAX_BOUNCES, 20);
  for (let bounces = 0; bounces < 19; bounces++) {
    assert.deepEqual(afterRelease(bounces, true, 0), { to: 'again', delayMs: 0 }, `after ${bounces}`);
  }
  assert.deepEqual(afterRelease(19, true, 0), { to: 'failed', reason: 'undeliverable' });
  assert.deepEqual(afterRelease(30, true, 0), { to: 'failed', reason: 'undeliverable' });
});

test('a release that is no bounce never makes a task undeliverable', () => {
  assert.deepEqual(afterRelease(500, false, 0), { to: 'again', delayMs: 0 });
});

test('a lease is half a minute by default', () => {
  assert.equal(DEFAULT_LEASE_MS, 30_000);
});
