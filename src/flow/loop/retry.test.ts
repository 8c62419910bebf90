import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AgentFailure, isTransient, retryDelay, type Tried, triedAgain } from './retry.ts';

const OVERLOAD: AgentFailure = { code: 'server_error', message: 'the model is overloaded', status: undefined };
const BROKEN: AgentFailure = { code: 'server_error', message: 'agent ended with exit code 1' };

function delays(failure: AgentFailure, retries: number, backoffMs = 5000): readonly number[] {
  const waited: number[] = [];
  let tried: Tried = { transient: 0, others: 0 };
  for (let delay = retryDelay(failure, tried, { retries, backoffMs }); delay !== undefined; ) {
    waited.push(delay);
    tried = triedAgain(failure, tried);
    delay = retryDelay(failure, tried, { retries, backoffMs });
  }
  return waited;
}

test('a transient failure is tried five times in all, each time after twice the delay, whatever the budget', () => {
  assert.deepEqual(delays(OVERLOAD, 0), [5000, 10_000, 20_000, 40_000]);
  assert.deepEqual(delays(OVERLOAD, 9), [5000, 10_000, 20_000, 40_000]);
});

test('no delay is above two minutes', () => {
  assert.deepEqual(delays(OVERLOAD, 0, 50_000), [50_000, 100_000, 120_000, 120_000]);
});

test('other failures are tried again as often as the config says, after the same delay each time', () => {
  assert.deepEqual(delays(BROKEN, 0), []);
  assert.deepEqual(delays(BROKEN, 2), [5000, 5000]);
});

test('the two kinds of failures are counted apart', () => {
  const tried = triedAgain(BROKEN, triedAgain(OVERLOAD, { transient: 0, others: 0 }));
  assert.deepEqual(tried, { transient: 1, others: 1 });
  assert.equal(retryDelay(OVERLOAD, tried, { retries: 1, backoffMs: 5000 }), 10_000);
  assert.equal(retryDelay(BROKEN, tried, { retries: 1, backoffMs: 5000 }), undefined);
});

test('what passes is told by the status, else by the code or the words', () => {
  assert.ok(isTransient({ code: 'unknown', message: 'no', status: 529 }));
  assert.ok(isTransient({ code: 'rate_limit', message: 'slow down' }));
  assert.ok(isTransient({ code: 'server_error', message: 'API Error: 503 Service Unavailable' }));
  assert.ok(!isTransient({ code: 'server_error', message: 'overloaded', status: 400 }));
  assert.ok(!isTransient({ code: 'server_error', message: 'a file of 5000 lines' }));
  assert.ok(!isTransient({ code: 'timeout', message: 'it took more than 600 s' }));
});
