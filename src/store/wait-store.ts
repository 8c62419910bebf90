import type { Lease } from '../core/lease.ts';

/** The part of the port for running tasks that wait and remember: parks, signals, checkpoints. */
export interface WaitStore {
  /** The task gives its lease back and waits. Fenced like a settle. */
  taskPark(params: { readonly items: readonly ParkItem[] }): Promise<readonly ParkAnswer[]>;
  /** What a task waits for now, or waited for last. */
  waitGet(params: { readonly task: number }): Promise<WaitRecord | undefined>;
  /** Open waits that have a form: approvals. Oldest first. */
  waitList(params: { readonly limit: number }): Promise<readonly WaitRecord[]>;
  /** Wakes the task that has waited longest on the channel, or is kept until one comes. */
  signalSend(params: { readonly items: readonly NewSignal[] }): Promise<readonly SignalAnswer[]>;

  /** Remembers a value under the fence; the first one stays. */
  checkpointPut(params: { readonly items: readonly NewCheckpoint[] }): Promise<readonly CheckpointAnswer[]>;
  /** In the order of their times; those of the same millisecond by key. */
  checkpointList(params: { readonly task: number }): Promise<readonly Checkpoint[]>;
  /** Those of several tasks whose key begins so. */
  checkpointScan(params: {
    readonly tasks: readonly number[];
    readonly prefix: string;
  }): Promise<readonly FoundCheckpoint[]>;
}

/** What a parked task waits for; without any of them for its time alone. */
export interface ParkItem extends Lease {
  /** Names the wait among those of the task: its outcome is told under it. */
  readonly key: string;
  /** Counts the waits of the attempt: one that comes after a later one changes nothing. Default 0. */
  readonly turn?: number | undefined;
  readonly channel?: string | undefined;
  /** JSON text that people see. */
  readonly form?: string | undefined;
  readonly children?: readonly number[] | undefined;
  /** The first child that ends is enough. */
  readonly any?: boolean | undefined;
  /** Woken after so long whatever happens. */
  readonly timeoutMs?: number | undefined;
}

/**
 * `parked`: it waits. `woken`: what it would wait for is there, so that it goes on with its lease. `cancelled`: it was asked
 * to stop, and has ended. `lost`: another attempt owns the task, or nobody does; or a later wait of this one has come.
 */
export type ParkAnswer =
  | { readonly kind: 'parked' | 'cancelled' | 'lost' }
  | { readonly kind: 'woken'; readonly body: string | undefined };

export interface WaitRecord {
  readonly task: number;
  readonly key: string;
  readonly channel: string | undefined;
  readonly form: string | undefined;
  readonly since: number;
  readonly deadline: number | undefined;
  readonly outcome: 'open' | 'woken' | 'timed_out';
  readonly body: string | undefined;
}

export interface NewSignal {
  readonly channel: string;
  /** JSON text. */
  readonly body: string;
  /** Everybody who waits now, and nobody later. */
  readonly broadcast?: boolean | undefined;
  /** Operation id: a repeat gets the first answer. */
  readonly op?: string | undefined;
}

export interface SignalAnswer {
  /** The tasks that it woke; none: it is kept for the next one that waits. */
  readonly woken: readonly number[];
}

export interface NewCheckpoint extends Lease {
  readonly key: string;
  /** JSON text. */
  readonly value: string;
}

/** `kept`: another value was there before, and stays. */
export type CheckpointAnswer = { readonly kind: 'stored' | 'lost' } | { readonly kind: 'kept'; readonly value: string };

export interface FoundCheckpoint {
  readonly task: number;
  readonly key: string;
  readonly value: string;
}

export interface Checkpoint {
  readonly key: string;
  readonly attempt: number;
  readonly value: string;
  readonly at: number;
}
