import type { QueueStats } from '../core/task/event.ts';
import type { ClaimStore } from './port/claim-store.ts';
import type { DutyStore } from './port/duty-store.ts';
import type { EventStore } from './port/event-store.ts';
import type { LaneStore } from './port/lane-store.ts';
import type { LeaseStore } from './port/lease-store.ts';
import type { LogStore } from './port/log-store.ts';
import type { PushStore } from './port/push-store.ts';
import type { SettleStore } from './port/settle-store.ts';
import type { TaskStore } from './port/task-store.ts';
import type { UpkeepStore } from './port/upkeep-store.ts';
import type { WorkerStore } from './port/worker-store.ts';

export type * from './port/claim-store.ts';
export type * from './port/duty-store.ts';
export type * from './port/event-store.ts';
export type * from './port/lane-store.ts';
export type * from './port/lease-store.ts';
export type * from './port/log-store.ts';
export type * from './port/push-store.ts';
export type * from './port/settle-store.ts';
export type * from './port/task-store.ts';
export type * from './port/upkeep-store.ts';
export type * from './port/worker-store.ts';

/**
 * The part of the port that a plain queue needs: push, claim, settle, return, renew, expire, stage, cancel, count and
 * prune, with workers, duties and the feed. The engine runs on it alone (`engine/plain-queue.ts`), and a store may have
 * no more than this.
 *
 * Verbs are named noun first and take one parameter object. Hot verbs take many items, because the engine batches
 * calls. Each item has an answer of its own, and one bad item never fails its neighbours. An answer is given only after
 * the commit. Every write after the claim names its attempt, and changes nothing unless that is the newest one of a
 * running task.
 */
export interface QueueStore
  extends LaneStore,
    PushStore,
    ClaimStore,
    SettleStore,
    LeaseStore,
    LogStore,
    TaskStore,
    UpkeepStore,
    WorkerStore,
    DutyStore,
    EventStore {
  readonly capabilities: Capabilities;
  /** The key of the public ids: 32 hex digits, made once with the data and copied with it. */
  readonly clusterKey: string;
  queueStats(params: { readonly queue: string }): Promise<QueueStats | undefined>;
  queuePause(params: { readonly queue: string; readonly paused: boolean }): Promise<void>;
  queueList(): Promise<readonly QueueRecord[]>;
  /** The present time of this store. */
  clock(): Promise<StoreTime>;
  /**
   * Calls back after another process has committed, and after this one has woken tasks that no answer names. It is only
   * a hint, which may come late, twice or never. While nothing is wanted, the store does not watch.
   */
  watch(params: WatchParams): () => void;
  close(): Promise<void>;
}

export interface WatchParams {
  readonly wanted: () => boolean;
  /** Called with the lanes that have new ready tasks and the counters that have room again, if the store knows them. */
  readonly onChange: (lanes?: readonly number[], counters?: readonly number[]) => void;
  /** Called when an end had more dependents than one transaction handles, so that `depCarry` has work. */
  readonly onCarried?: (() => void) | undefined;
}

/** What a store can do beyond the plain queue. A caller that needs more than a store has is refused when it starts. */
export interface Capabilities {
  readonly name: string;
  /** Several processes may open the same data. */
  readonly shared: boolean;
  /** Acknowledged work survives the loss of power. */
  readonly durable: boolean;
  /** `taskPush` can take part in the caller's own transaction. */
  readonly callerTransactions: boolean;
  /** Events get their numbers in the write itself, so no sequencer is needed. */
  readonly numbersEvents: boolean;
  /** Calls of one turn of the event loop share a commit. */
  readonly sharesCommits: boolean;
  /** It has every part of the port. False: only what a plain queue needs. */
  readonly whole: boolean;
}

/** The present time of the store's two clocks. */
export interface StoreTime {
  readonly calendar: number;
  readonly lease: number;
}

export interface QueueRecord {
  readonly name: string;
  readonly paused: boolean;
  readonly stats: QueueStats;
}
