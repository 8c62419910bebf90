import type { Lease } from '../../core/task/lease.ts';
import type { FinalState, Reason } from '../../core/task/task.ts';

/** The part of the port for the end of an attempt. */
export interface SettleStore {
  /** Ends tasks: completed, failed for good, or cancelled by their worker. */
  taskSettle(params: { readonly items: readonly SettleItem[] }): Promise<readonly SettleAnswer[]>;
  /** Returns tasks to be run again: a retry after a failure, or a release that costs no try. */
  taskReturn(params: { readonly items: readonly ReturnItem[] }): Promise<readonly SettleAnswer[]>;
}

/** What the caller may know from its grant. It saves a read and never decides anything. */
export interface TaskHint {
  readonly lane: number;
  readonly createdAt: number;
}

export interface SettleItem extends Lease {
  readonly hint?: TaskHint | undefined;
  readonly to: FinalState;
  readonly reason: Reason;
  /** JSON text: the result of a completed task, the error of another one. */
  readonly result?: string | undefined;
}

export interface ReturnItem extends Lease {
  readonly change: 'retried' | 'released';
  readonly delayMs: number;
  /** Gives the try back: for a release and "come back later", never for a failure. */
  readonly refund: boolean;
  /** The task was returned before its handler started. */
  readonly bounced: boolean;
  readonly error?: string | undefined;
  /**
   * For `forMs` no task starts that takes from the same key of this limit. Without a name: of all its limits with a
   * rate or a cost. A pause of what was not paused has its line in the history of the limit.
   */
  readonly pause?: LimitPause | undefined;
}

export interface LimitPause {
  readonly limit?: string | undefined;
  readonly forMs: number;
  /** Who asked for it. */
  readonly by: string;
}

/**
 * `done`: this call did it. `repeated`: the same attempt had done the same before, and its answer was lost.
 * `cancelled`: the task was returned after a cancel request and ended as cancelled. `lost`: another attempt owns the
 * task, or none does.
 */
export type SettleAnswer = 'done' | 'repeated' | 'cancelled' | 'lost';
