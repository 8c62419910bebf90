import type { Lease } from '../../core/task/lease.ts';
import type { Reason } from '../../core/task/task.ts';
import type { DutyTerm } from './duty-store.ts';

/** The part of the port for leases: kept, listed, and taken back once they have run out. */
export interface LeaseStore {
  leaseRenew(params: { readonly items: readonly RenewItem[] }): Promise<readonly RenewAnswer[]>;
  /** Running tasks of this holder that somebody has asked to stop. Reads only. */
  leaseCancels(params: { readonly holder: number }): Promise<readonly Lease[]>;
  /** Running tasks, ascending by number; only those of these holders, if some are given. Reads only. */
  leaseList(params: { readonly holders?: readonly number[] | undefined }): Promise<readonly HeldTask[]>;
  /** Who had these attempts, and how they ended; undefined where the attempt or its worker is no longer kept. Reads only. */
  attemptWorkers(params: { readonly items: readonly Lease[] }): Promise<readonly (AttemptWorker | undefined)[]>;
  /** Running tasks whose lease has expired, and when the next one will. Reads only. */
  leaseOverdue(params: { readonly limit: number }): Promise<Overdue>;
  /**
   * Takes back what `leaseOverdue` found, unless it was renewed or ended meanwhile. A task that was asked to cancel
   * ends as cancelled, whatever the item says.
   */
  leaseReap(params: { readonly duty: DutyTerm; readonly items: readonly ReapItem[] }): Promise<ReapAnswer>;
}

export interface AttemptWorker {
  /** The name of its worker. */
  readonly name: string;
  readonly host: string | undefined;
  /** Why the task has ended with it; `none` also for an attempt that others have followed. */
  readonly reason: Reason;
  /** JSON text: the error that it ended with, unless that is kept apart for its size. */
  readonly error: string | undefined;
}

export interface RenewItem extends Lease {
  readonly ttlMs: number;
}

export type RenewAnswer =
  | { readonly held: true; readonly leaseUntil: number; readonly cancelRequested: boolean }
  | { readonly held: false };

export interface HeldTask extends Lease {
  readonly holder: number;
  readonly createdAt: number;
}

export interface OverdueLease extends Lease {
  readonly spec: number;
  readonly tries: number;
  readonly maxTries: number;
  readonly cancelRequested: boolean;
  /** How long ago it was claimed, where the store knows how long it has been up. */
  readonly heldForMs?: number | undefined;
}

export interface Overdue {
  readonly leases: readonly OverdueLease[];
  /** Until the earliest lease that has not expired, in milliseconds; undefined when nothing runs. */
  readonly nextInMs: number | undefined;
  /** How long the store has been up, if it knows: before that no lease could be renewed. One that was claimed since could be all the time. */
  readonly upForMs?: number | undefined;
}

export interface ReapItem extends Lease {
  readonly to: 'again' | 'failed' | 'cancelled';
  readonly reason: Reason;
  readonly delayMs: number;
}

export interface ReapAnswer {
  readonly reaped: number;
  /** Lanes that have ready tasks again. */
  readonly lanes: readonly number[];
}
