import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isEngineError } from '../errors.ts';
import type { RetryInput, RetryPolicy } from './retry.ts';
import { backoffMs, DEFAULT_MAX_TRIES, DEFAULT_RETRY, normalizeRetry } from './retry.ts';

const steady: RetryPolicy = { baseMs: 1_000, factor: 2, maxMs: 60_000, jitter: 0 };

function refusal(input: unknown): string {
  try {
    normalizeRetry(input as RetryInput);
  } catch (error) {
    assert.ok(isEngineError(error, 'INVALID_INPUT'), String(error));
    return error.message;
  }
  return assert.fail(`${JSON.stringify(input)} was accepted`);
}

test('without jitter the wait doubles from the base up to the cap', () => {
  assert.deepEqual(
    [1, 2, 3, 4, 5, 6, 7, 8].map((tries) => backoffMs(steady, tries, 0.9)),
    [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000],
  );
});

test('jitter only shortens the wait, by at most its share', () => {
  const policy = { ...steady, jitter: 0.5 };
  assert.equal(backoffMs(policy, 1, 0), 1_000);
  assert.equal(backoffMs(policy, 1, 0.5), 750);
  assert.equal(backoffMs(policy, 1, 1 - 2 ** -53), 501);
});

test('the wait is a whole number between its bounds for any policy and any number of tries', () => {
  const policies = fc.record({
    baseMs: fc.integer({ min: 0, max: 10 ** 12 }),
    factor: fc.double({ min: 1, max: 100, noNaN: true }),
    maxMs: fc.integer({ min: 0, max: 10 ** 12 }),
    jitter: fc.double({ min: 0, max: 1, noNaN: true }),
  });
  const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  fc.assert(
    fc.property(policies, fc.integer({ min: 1, max: 32_767 }), chance, (policy, tries, random) => {
      const full = backoffMs(policy, tries, 0);
      const wait = backoffMs(policy, tries, random);
      assert.ok(Number.isSafeInteger(wait));
      assert.ok(full <= policy.maxMs);
      assert.ok(wait <= full);
      assert.ok(wait >= (1 - policy.jitter) * full - 1e-3);
    }),
  );
});

test('a zero base means no wait, even where the growth overflows', () => {
  assert.equal(backoffMs({ ...steady, baseMs: 0 }, 32_767, 0.5), 0);
  assert.equal(backoffMs(steady, 32_767, 0.5), 60_000);
});

test('an empty retry policy is the default, which is within its own rules', () => {
  assert.deepEqual(normalizeRetry({}), DEFAULT_RETRY);
  assert.deepEqual(normalizeRetry(DEFAULT_RETRY), DEFAULT_RETRY);
  assert.deepEqual(normalizeRetry({ baseMs: undefined, jitter: undefined }), DEFAULT_RETRY);
  assert.ok(Object.isFrozen(DEFAULT_RETRY));
  assert.equal(DEFAULT_MAX_TRIES, 3);
});

test('durations of a retry policy may be text', () => {
  assert.deepEqual(normalizeRetry({ baseMs: '5s', factor: 3, maxMs: '10m', jitter: 0 }), {
    baseMs: 5_000,
    factor: 3,
    maxMs: 600_000,
    jitter: 0,
  });
});

test('a base above the default cap raises the cap, but a cap below the base is refused', () => {
  assert.equal(normalizeRetry({ baseMs: '2h' }).maxMs, 7_200_000);
  assert.match(refusal({ baseMs: '2h', maxMs: '1h' }), /retry\.maxMs .*below baseMs/);
});

test('a wrong retry policy is refused with the place and the rule', () => {
  assert.match(refusal({ base: '1s' }), /"base" is not one of its keys baseMs, factor, maxMs, jitter/);
  assert.match(refusal({ toString: 1 }), /"toString" is not one/);
  assert.match(refusal({ factor: 0.5 }), /retry\.factor .*from 1 to 100/);
  assert.match(refusal({ factor: Number.NaN }), /retry\.factor/);
  assert.match(refusal({ jitter: 2 }), /retry\.jitter .*from 0 to 1/);
  assert.match(refusal({ jitter: '0.5' }), /retry\.jitter/);
  assert.match(refusal({ maxMs: 'soon' }), /retry\.maxMs .*"soon"/);
  for (const input of [null, undefined, 5, 'fast', []]) assert.match(refusal(input), /must be an object/);
});
