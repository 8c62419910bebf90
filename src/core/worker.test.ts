import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULT_STALE_MS, WORKER_STATES } from './worker.ts';

test('the numbers that stores write for the states of workers never move', () => {
  assert.deepEqual(WORKER_STATES, ['starting', 'online', 'draining', 'offline', 'lost']);
});

test('a worker is lost after half a minute of silence', () => {
  assert.equal(DEFAULT_STALE_MS, 30_000);
});
