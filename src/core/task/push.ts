import type { Duration } from '../duration.ts';
import type { LimitUseInput } from '../limits/limit.ts';
import type { FairnessInput } from '../placement/lane.ts';
import type { Permissions } from '../placement/permissions.ts';
import type { PlacementInput } from '../placement/placement.ts';
import type { RetryInput } from './retry.ts';
import type { ReuseInput } from './reuse.ts';

/** The fields of a new task, wherever it comes from: the library, a running task, the wire. */
export interface TaskRequest {
  readonly queue: string;
  readonly handler: string;
  readonly input?: unknown;
  /** Whole number, higher first; default 0. */
  readonly priority?: number | undefined;
  /** Due this much later. */
  readonly delay?: Duration | undefined;
  /** Due at this calendar time, in milliseconds. */
  readonly runAt?: number | undefined;
  /** The most tries, crashes included; default 3. */
  readonly maxAttempts?: number | undefined;
  readonly retry?: RetryInput | undefined;
  /** How long one attempt may run, at least 1 ms; then its worker stops it. */
  readonly timeout?: Duration | undefined;
  /** How long it may wait for its first start once it is due, at least 1 ms; then it fails with reason `timeout`. */
  readonly waitTimeout?: Duration | undefined;
  /** The same key and input lead to the same task; the same key with another input is refused. */
  readonly unique?: string | { readonly key: string; readonly window?: Duration | undefined } | undefined;
  /** Where it may run. */
  readonly placement?: PlacementInput | undefined;
  /** What it takes from which limits while it runs; a name alone takes one. */
  readonly limits?: readonly (string | LimitUseInput)[] | undefined;
  /** Its fairness key: keys share the workers, however many tasks each of them has. */
  readonly fairness?: FairnessInput | undefined;
  /**
   * A kept result of the same handler and input, or key, replaces a run if it is no older than this: `true` (24 hours), an age, or an
   * object with key and age. Its own result is kept for others.
   */
  readonly reuse?: ReuseInput | undefined;
  /** What it and its descendants may do to others while a joined worker runs them; default: what was granted to that worker. */
  readonly permissions?: Permissions | undefined;
}
