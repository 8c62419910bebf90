import { type Duration, parseDuration } from '../../core/duration.ts';
import type { RunOutcome } from '../runner/runner.ts';

const BRAND: unique symbol = Symbol.for('leasehold.outcome');

/** How a handler ends its attempt, as a value: nothing has to be guessed from an exception. */
export type Outcome<R = unknown> =
  | { readonly [BRAND]: 'done'; readonly result: R }
  | {
      readonly [BRAND]: 'retryAfter';
      readonly delayMs: number;
      readonly reason: unknown;
      readonly limit: string | undefined;
    }
  | { readonly [BRAND]: 'giveUp'; readonly error: unknown };

/** The result type of a handler: what it returns, or what it wraps in `done`. */
export type OutcomeValue<R> = R extends { readonly [BRAND]: 'done'; readonly result: infer V }
  ? V
  : R extends { readonly [BRAND]: string }
    ? never
    : R;

/** The work is done; the same as returning the value itself. */
export function done<R>(result: R): Outcome<R> & { readonly [BRAND]: 'done' } {
  return { [BRAND]: 'done', result };
}

export interface RetryAfterOptions {
  /** The limit whose key waits as long; default: all limits of the task that have a rate or a cost. */
  readonly limit?: string;
}

/**
 * Runs the task again after this delay, without using a try: for a 429, or a lock that is held elsewhere. Other tasks with the
 * same key of the same limits wait as long.
 */
export function retryAfter(
  delay: Duration,
  reason?: unknown,
  { limit }: RetryAfterOptions = {},
): Outcome<never> & { readonly [BRAND]: 'retryAfter' } {
  return { [BRAND]: 'retryAfter', delayMs: parseDuration(delay, 'retryAfter'), reason, limit };
}

/** A retry cannot help: the task fails now, whatever tries are left. */
export function giveUp(error: unknown): Outcome<never> & { readonly [BRAND]: 'giveUp' } {
  return { [BRAND]: 'giveUp', error };
}

/** Recognised by brand, so that a value from another loaded copy of the package works. */
export function outcomeOf(value: unknown): RunOutcome {
  if (typeof value !== 'object' || value === null || !(BRAND in value)) return { kind: 'done', result: value };
  const outcome = value as Outcome;
  switch (outcome[BRAND]) {
    case 'done':
      return { kind: 'done', result: outcome.result };
    case 'retryAfter':
      return {
        kind: 'retryAfter',
        delayMs: outcome.delayMs,
        reason: outcome.reason,
        ...(outcome.limit === undefined ? {} : { limit: outcome.limit }),
      };
    case 'giveUp':
      return { kind: 'giveUp', error: outcome.error };
  }
}
