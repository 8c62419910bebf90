import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULT_HEARTBEAT_MS, DEFAULT_STALE_MS, heartbeatOf, WORKER_STATES } from './worker.ts';

test('the numbers that stores write for the states of workers never change', () => {
  assert.deepEqual(WORKER_STATES, ['starting', 'online', 'draining', 'offline', 'lost']);
});

test('a worker is lost after half a minute of silence', () => {
  assert.equal(DEFAULT_STALE_MS, 30_000);
});

test('a worker beats as often as it is asked to, and more often where leases or stale times are short', () => {
  assert.equal(DEFAULT_HEARTBEAT_MS, 10_000);
  assert.equal(heartbeatOf(10_000, { leaseMs: 30_000, staleMs: 30_000 }), 10_000);
  assert.equal(heartbeatOf(2000, { leaseMs: 30_000, staleMs: 30_000 }), 2000);
  assert.equal(heartbeatOf(10_000, { leaseMs: 2000, staleMs: 30_000 }), 666);
  assert.equal(heartbeatOf(10_000, { leaseMs: 30_000, staleMs: 6000 }), 2000);
  assert.equal(heartbeatOf(10_000, { leaseMs: 10, staleMs: 10 }), 100);
});
