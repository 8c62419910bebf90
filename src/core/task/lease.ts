import { backoffMs, type RetryPolicy } from './retry.ts';
import type { Reason } from './task.ts';

/**
 * The right to run one attempt of one task. The attempt number is the fence: a store accepts a write only from the newest
 * attempt of a running task, whatever any clock, socket or name says.
 */
export interface Lease {
  readonly task: number;
  readonly attempt: number;
}

export const DEFAULT_LEASE_MS = 30_000;

/** A task that was claimed and given back this often in a row, never started, will not be delivered by another try. */
export const MAX_BOUNCES = 20;

/** What becomes of a running task whose attempt ended without success. */
export type Verdict =
  | { readonly to: 'failed'; readonly reason: Reason }
  | { readonly to: 'cancelled'; readonly reason: Reason }
  | { readonly to: 'again'; readonly delayMs: number };

/** A task's budget, as the claim gave it out: `tries` already counts the present attempt. */
export interface Budget {
  readonly tries: number;
  readonly maxTries: number;
}

/** The handler failed: the task runs again after a backoff while tries are left. */
export function afterFailure(budget: Budget, retry: RetryPolicy, random: number): Verdict {
  if (budget.tries >= budget.maxTries) return { to: 'failed', reason: 'exhausted' };
  return { to: 'again', delayMs: backoffMs(retry, budget.tries, random) };
}

/**
 * The lease expired. The try stays counted, so that a task that kills its worker ends instead of looping. On the first try the lease is blamed on
 * the worker (again at once), on later tries on the task (again after a backoff).
 */
export function afterExpiry(
  budget: Budget & { readonly cancelRequested: boolean },
  retry: RetryPolicy,
  random: number,
): Verdict {
  if (budget.cancelRequested) return { to: 'cancelled', reason: 'requested' };
  if (budget.tries >= budget.maxTries) return { to: 'failed', reason: 'exhausted' };
  return { to: 'again', delayMs: budget.tries <= 1 ? 0 : backoffMs(retry, budget.tries, random) };
}

/** The worker gave the task back. Only a bounce counts: a task that was claimed to run it, and never started. */
export function afterRelease(bounces: number, bounced: boolean, delayMs: number): Verdict {
  if (bounced && bounces + 1 >= MAX_BOUNCES) return { to: 'failed', reason: 'undeliverable' };
  return { to: 'again', delayMs };
}
