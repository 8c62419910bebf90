import type { Duration } from '../duration.ts';
import { parseDuration } from '../duration.ts';
import { fault } from '../errors.ts';

/** How long a failed task waits before its next try. */
export interface RetryPolicy {
  readonly baseMs: number;
  readonly factor: number;
  readonly maxMs: number;
  /** 0 to 1: the largest share of the wait that jitter removes. */
  readonly jitter: number;
}

export interface RetryInput {
  readonly baseMs?: Duration | undefined;
  readonly factor?: number | undefined;
  readonly maxMs?: Duration | undefined;
  readonly jitter?: number | undefined;
}

export const DEFAULT_RETRY: RetryPolicy = Object.freeze({ baseMs: 1_000, factor: 2, maxMs: 3_600_000, jitter: 0.5 });

export const DEFAULT_MAX_TRIES = 3;

const MAX_FACTOR = 100;

/**
 * The wait after `tries` used tries (1 or more): exponential, capped at `maxMs`, less a random part, so that tasks that failed
 * together do not come back together. `random` is in [0, 1). A whole number from (1 - jitter) * full to full, so a wait is never
 * longer than the policy says.
 */
export function backoffMs(policy: RetryPolicy, tries: number, random: number): number {
  // A zero base does not grow: 0 * Infinity is NaN, and the power is Infinity from about 1,000 tries on.
  const grown = policy.baseMs === 0 ? 0 : policy.baseMs * policy.factor ** (tries - 1);
  const full = Math.round(Math.min(policy.maxMs, grown));
  return full - Math.floor(full * policy.jitter * random);
}

/** Fills in the defaults and refuses what makes no sense. A base above the default cap raises the cap to itself. */
export function normalizeRetry(input: RetryInput): RetryPolicy {
  if (typeof input !== 'object' || input === null || Array.isArray(input))
    throw refuse('retry', 'it must be an object');
  for (const key of Object.keys(input)) {
    if (!Object.hasOwn(DEFAULT_RETRY, key)) {
      throw refuse(
        'retry',
        `${JSON.stringify(key.slice(0, 40))} is not one of its keys ${Object.keys(DEFAULT_RETRY).join(', ')}`,
      );
    }
  }
  const baseMs = parseDuration(input.baseMs ?? DEFAULT_RETRY.baseMs, 'retry.baseMs');
  const maxMs = parseDuration(input.maxMs ?? Math.max(DEFAULT_RETRY.maxMs, baseMs), 'retry.maxMs');
  if (maxMs < baseMs) throw refuse('retry.maxMs', `${maxMs} ms is below baseMs, which is ${baseMs} ms`);
  return {
    baseMs,
    factor: checkNumber('retry.factor', input.factor ?? DEFAULT_RETRY.factor, 1, MAX_FACTOR),
    maxMs,
    jitter: checkNumber('retry.jitter', input.jitter ?? DEFAULT_RETRY.jitter, 0, 1),
  };
}

function checkNumber(field: string, value: unknown, min: number, max: number): number {
  if (typeof value !== 'number' || !(value >= min && value <= max)) {
    throw refuse(field, `it must be a number from ${min} to ${max}`);
  }
  return value;
}

function refuse(field: string, problem: string): Error {
  return fault('INVALID_INPUT', { field, problem });
}
