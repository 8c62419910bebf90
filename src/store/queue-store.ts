import type { CounterUse, LimitUse } from '../core/limits/limit.ts';
import type { Fairness } from '../core/placement/lane.ts';
import type { Placement } from '../core/placement/placement.ts';
import type { QueueStats } from '../core/task/event.ts';
import type { Lease } from '../core/task/lease.ts';
import type { LogEntry } from '../core/task/log.ts';
import type { FinalState, Reason, TaskState } from '../core/task/task.ts';
import type { DutyStore, DutyTerm } from './duty-store.ts';
import type { EventStore } from './event-store.ts';
import type { WorkerStore } from './worker-store.ts';

/**
 * The part of the port that a plain queue needs: push, claim, settle, give back, renew, expire, stage, cancel, count, prune, with
 * workers, duties and the feed. The engine runs on it alone (`engine/plain-queue.ts`): a store may have no more than this.
 *
 * Verbs are named noun first and take one parameter object. Hot verbs take many items, because the engine coalesces; each
 * item has an answer of its own and one bad item never fails its neighbours. An answer is given only after the commit.
 * Every write after the claim names its attempt and changes nothing unless that is the newest one of a running task.
 */
export interface QueueStore extends WorkerStore, DutyStore, EventStore {
  readonly capabilities: Capabilities;
  /** The key of the public ids: 32 hex digits, made once with the data and copied with it. */
  readonly clusterKey: string;

  /**
   * Gives each kind of task its lane, made on first sight, in a transaction of its own. A limit that does not exist is
   * refused with `NOT_FOUND`.
   */
  laneIntern(params: { readonly lanes: readonly LaneWish[] }): Promise<readonly Lane[]>;
  laneGet(params: { readonly lanes: readonly number[] }): Promise<readonly (Lane | undefined)[]>;
  /** Lanes with ready tasks now, ascending by id and above `after`. */
  laneScan(params: { readonly after: number; readonly limit: number }): Promise<readonly ReadyLane[]>;

  /**
   * How full lanes are, in the same order: ready tasks are counted up to `most` in each, and no further. `readySince` is that of the
   * first task of each priority that comes first; it says nothing of a lane that is empty.
   */
  laneDepth(params: { readonly lanes: readonly number[]; readonly most: number }): Promise<readonly LaneDepth[]>;

  taskPush(params: { readonly items: readonly NewTask[] }): Promise<readonly PushAnswer[]>;
  /**
   * Undefined for a claim whose lanes were not looked at: its worker is disabled or unknown, or its operation id had its
   * answer before and nothing of it holds any more. Such a claim says nothing about its lanes.
   */
  taskClaim(params: { readonly claims: readonly NewClaim[] }): Promise<readonly (ClaimAnswer | undefined)[]>;
  /** Ends tasks: completed, failed for good, or cancelled by their worker. */
  taskSettle(params: { readonly items: readonly SettleItem[] }): Promise<readonly SettleAnswer[]>;
  /** Gives tasks back to be run again: a retry after a failure, or a release that costs no try. */
  taskReturn(params: { readonly items: readonly ReturnItem[] }): Promise<readonly SettleAnswer[]>;
  leaseRenew(params: { readonly items: readonly RenewItem[] }): Promise<readonly RenewAnswer[]>;

  /** Running tasks of this holder that somebody has asked to stop. Reads only. */
  leaseCancels(params: { readonly holder: number }): Promise<readonly Lease[]>;

  /** What runs, ascending by task; of these holders only, if some are given. Reads only. */
  leaseList(params: { readonly holders?: readonly number[] | undefined }): Promise<readonly HeldTask[]>;

  /** The names of the workers that had these attempts; undefined where the attempt or its worker is no longer kept. Reads only. */
  attemptWorkers(params: { readonly items: readonly Lease[] }): Promise<readonly (string | undefined)[]>;

  /** Adds lines to the log of a running attempt; a line that is there already stays as it is. */
  logAppend(params: { readonly items: readonly LogAppend[] }): Promise<readonly LogAnswer[]>;
  /** Lines above `after`, ordered by attempt and number. */
  logRead(params: LogQuery): Promise<readonly LogLine[]>;

  /** Running tasks whose lease has passed, and when the next one will. Reads only. */
  leaseOverdue(params: { readonly limit: number }): Promise<Overdue>;
  /**
   * Takes over what `leaseOverdue` showed, unless it was renewed or ended meanwhile; what was asked to cancel meanwhile
   * ends as cancelled, whatever the item says.
   */
  leaseReap(params: { readonly duty: DutyTerm; readonly items: readonly ReapItem[] }): Promise<ReapAnswer>;
  /** Makes due tasks ready. */
  taskStage(params: { readonly duty: DutyTerm; readonly limit: number }): Promise<StageAnswer>;
  /** Fails tasks that waited for their first start for longer than they may. */
  taskExpire(params: { readonly duty: DutyTerm; readonly limit: number }): Promise<ExpireAnswer>;

  taskGet(params: { readonly tasks: readonly number[] }): Promise<readonly (TaskRecord | undefined)[]>;
  queueStats(params: { readonly queue: string }): Promise<QueueStats | undefined>;

  specIntern(params: { readonly specs: readonly string[] }): Promise<readonly number[]>;
  specGet(params: { readonly spec: number }): Promise<string | undefined>;
  /** Ends what does not run; asks the worker of what does. */
  taskCancel(params: { readonly tasks: readonly number[] }): Promise<readonly CancelAnswer[]>;
  /** Makes finished tasks ready again: tries 0, the attempt keeps growing. */
  taskRevive(params: ReviveParams): Promise<readonly ReviveAnswer[]>;
  taskList(params: TaskQuery): Promise<readonly TaskRecord[]>;
  /** What time it is for this store. */
  clock(): Promise<StoreTime>;
  /** Attempts that did not end their task, oldest first; the last attempt is the task's own record. */
  attemptList(params: { readonly task: number }): Promise<readonly AttemptRecord[]>;
  queuePause(params: { readonly queue: string; readonly paused: boolean }): Promise<void>;
  queueList(): Promise<readonly QueueRecord[]>;
  /** One step of removing what is older than the retention; goes on from the duty's cursor. */
  taskPrune(params: PruneQuery): Promise<PruneAnswer>;
  /** Recounts the counters from the rows, repairs them and reports every difference. */
  statsAudit(params: { readonly duty: DutyTerm }): Promise<readonly Drift[]>;

  /**
   * Calls back after another process has committed, and after this one has woken tasks that no answer names: only a hint,
   * which may come late, doubled or never. While nobody wants to know, the store does not look.
   */
  watch(params: WatchParams): () => void;
  close(): Promise<void>;
}

export interface WatchParams {
  readonly wanted: () => boolean;
  /** With the lanes in which something became ready and the slots that have room again, where the store knows them. */
  readonly onChange: (lanes?: readonly number[], slots?: readonly number[]) => void;
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
  /** What is asked for in one turn of the loop shares a commit. */
  readonly commitsTurns: boolean;
  /** It has every part of the port. False: only what a plain queue needs. */
  readonly whole: boolean;
}

export interface LaneName {
  readonly queue: string;
  readonly handler: string;
}

/** Tasks that are interchangeable for the scheduler, as they are asked for. What is not given is as for most tasks. */
export interface LaneWish extends LaneName {
  readonly placement?: Placement | undefined;
  readonly limits?: readonly LimitUse[] | undefined;
  readonly fairness?: Fairness | undefined;
}

/** Tasks that are interchangeable for the scheduler. Immutable once made. */
export interface Lane extends LaneName {
  readonly id: number;
  readonly paused: boolean;
  /** What sets it apart from a plain lane of the same queue and handler. */
  readonly rules?: LaneRules | undefined;
}

export interface LaneRules {
  readonly placement: Placement;
  readonly limits: readonly LimitUse[];
  readonly fairness: Fairness | undefined;
  /** The counters that each of its tasks takes from while it runs. */
  readonly uses: readonly NamedUse[];
  /** The worker that served it last, by name, where the placement has an affinity. */
  readonly servedBy: string | undefined;
}

/** A counter, and the limit and key that it belongs to; the key of a total is ''. */
export interface NamedUse extends CounterUse {
  readonly name: string;
  readonly key: string;
}

export interface ReadyLane {
  readonly id: number;
  /** The highest in it. */
  readonly priority: number;
}

export interface LaneDepth {
  readonly ready: number;
  /** Calendar time; infinite: it is empty. */
  readonly readySince: number;
}

export interface NewTask {
  readonly lane: number;
  readonly spec: number;
  readonly priority: number;
  readonly maxTries: number;
  /** JSON text; the store does not look inside. */
  readonly payload: string;
  /** Due this long after the store's own now. */
  readonly delayMs?: number | undefined;
  /** Due at this calendar time. */
  readonly runAt?: number | undefined;
  /** How long it may wait for its first start once it is due; then it fails. At least 1. */
  readonly waitTimeoutMs?: number | undefined;
  readonly unique?: UniqueKey | undefined;
  /** Operation id: a repeat gets the first answer. */
  readonly op?: string | undefined;
  /** The key under which its result is looked for and kept, where it does not follow from handler and input. */
  readonly resultKey?: string | undefined;
}

export interface UniqueKey {
  readonly key: string;
  /** A hash of handler and input: the same key with another hash is refused. */
  readonly hash: number;
  readonly windowMs: number;
}

export type PushAnswer =
  | {
      readonly ok: true;
      readonly task: number;
      readonly createdAt: number;
      readonly state: TaskState;
      /** False when a unique key or an operation id led to a task that was there before. */
      readonly fresh: boolean;
    }
  | { readonly ok: false; readonly conflict: number }
  /** The limit takes no more tasks: its backlog is full, or it refuses what it cannot run. */
  | { readonly ok: false; readonly limit: string; readonly key: string };

export interface NewClaim {
  /** The worker incarnation that will hold the leases. */
  readonly holder: number;
  /** By which revision of the worker its lanes were chosen: nothing is granted by another one. */
  readonly revision?: number | undefined;
  /** The number of the secret that the worker came in by: nothing is granted once it has ended. Undefined: it needs none. */
  readonly token?: number | undefined;
  readonly ttlMs: number;
  readonly max: number;
  readonly lanes: readonly LaneAsk[];
  /** This very task and no other, if it is ready and its queue is not paused; `lanes` is empty then. */
  readonly task?: number | undefined;
  /** With `task`: no more than so many tasks of its queue, handler and placement at once with this holder. */
  readonly maxHeld?: number | undefined;
  readonly op?: string | undefined;
}

export interface LaneAsk {
  readonly lane: number;
  readonly max: number;
  /** Only tasks that have been ready for so long: younger ones are left to a better worker. */
  readonly minAgeMs?: number | undefined;
  /** No more than so many tasks of this queue, handler and placement at once with this holder. */
  readonly maxHeld?: number | undefined;
}

export interface ClaimAnswer {
  readonly grants: readonly Grant[];
  /** Lanes that gave less than they were asked for and have more: something holds it back. */
  readonly blocked: readonly LaneBlock[];
}

export interface LaneBlock {
  readonly lane: number;
  /** The counter without room; 0: it is held back from this holder, which has enough of these or leaves it to a better one. */
  readonly slot: number;
  /** When time alone will make room; undefined: something has to end. */
  readonly freesInMs: number | undefined;
  /** Room that is left for lighter tasks. */
  readonly left: number;
}

export interface Grant extends Lease, LaneName {
  readonly lane: number;
  readonly spec: number;
  readonly priority: number;
  readonly tries: number;
  readonly maxTries: number;
  readonly bounces: number;
  readonly createdAt: number;
  readonly leaseUntil: number;
  readonly payload: string;
  /**
   * The lease of an earlier attempt ran out, and no handler has come to an end since: this task may be what killed its
   * worker, and should run where that harms nobody else.
   */
  readonly suspect: boolean;
}

/** What a settling caller may already know from its grant; it saves a read and is never used to decide. */
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
  /** Gives the try back: releases and "come back later", never a failure. */
  readonly refund: boolean;
  /** The claim was given back before the handler started. */
  readonly bounced: boolean;
  readonly error?: string | undefined;
  /** Nothing starts for `delayMs` that takes from the same key of this limit; without a name, of those with a rate or a cost. */
  readonly pause?: { readonly limit?: string | undefined } | undefined;
}

/**
 * `done`: this call did it. `repeated`: the same attempt had done the same before (the answer was lost). `cancelled`: the
 * task was given back after a cancel request and ended as cancelled. `lost`: another attempt owns the task, or nobody does.
 */
export type SettleAnswer = 'done' | 'repeated' | 'cancelled' | 'lost';

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

export interface LogAppend extends Lease {
  readonly entries: readonly LogEntry[];
}

/** `lost`: another attempt owns the task, or nobody does; nothing was added. */
export type LogAnswer = 'done' | 'lost';

/** The place of a line in its task's log. */
export interface LogPlace {
  readonly attempt: number;
  readonly seq: number;
}

export interface LogQuery {
  readonly task: number;
  readonly after?: LogPlace | undefined;
  readonly limit: number;
}

export interface LogLine extends LogEntry {
  readonly attempt: number;
}

export interface OverdueLease extends Lease {
  readonly spec: number;
  readonly tries: number;
  readonly maxTries: number;
  readonly cancelRequested: boolean;
}

export interface Overdue {
  readonly leases: readonly OverdueLease[];
  /** Until the earliest lease that has not passed, in milliseconds; undefined when nothing runs. */
  readonly nextInMs: number | undefined;
  /** How long the store has been up, where it can tell: nobody could renew a lease before. */
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

export interface StageAnswer {
  readonly staged: number;
  readonly lanes: readonly number[];
  /** Until the earliest task that is due later, in milliseconds. */
  readonly nextInMs: number | undefined;
}

export interface ExpireAnswer {
  readonly expired: number;
  /** Until the earliest task that will have waited too long, in milliseconds. */
  readonly nextInMs: number | undefined;
}

export interface TaskRecord extends LaneName {
  readonly task: number;
  readonly lane: number;
  readonly spec: number;
  readonly state: TaskState;
  readonly reason: Reason;
  readonly priority: number;
  readonly attempt: number;
  readonly tries: number;
  readonly maxTries: number;
  readonly bounces: number;
  readonly holder: number | undefined;
  readonly createdAt: number;
  readonly startedAt: number | undefined;
  readonly finishedAt: number | undefined;
  readonly runAt: number | undefined;
  /** Since when it is ready; undefined while it is not. */
  readonly readySince: number | undefined;
  /** When it will have waited too long for its first start; undefined once it was claimed. */
  readonly expiresAt: number | undefined;
  readonly leaseUntil: number | undefined;
  readonly cancelRequestedAt: number | undefined;
  readonly payload: string;
  readonly result: string | undefined;
  readonly unique: string | undefined;
  /** The task that bore it, and the root of its tree; undefined: it was pushed, and is its own root. */
  readonly parent: number | undefined;
  readonly root: number | undefined;
}

/** What the store's two clocks say. */
export interface StoreTime {
  readonly calendar: number;
  readonly lease: number;
}

export interface ReviveParams {
  readonly tasks: readonly number[];
  /** Entries of journals that go with it, of those that are revived. */
  readonly forget?: readonly { readonly task: number; readonly key: string }[] | undefined;
}

/** Newest first, below `before`. */
export interface TaskQuery {
  readonly queue?: string;
  /** One of these. */
  readonly handlers?: readonly string[];
  readonly states?: readonly TaskState[];
  readonly before?: number;
  /** Created then or later: calendar time. */
  readonly from?: number;
  /** Created before. */
  readonly until?: number;
  readonly limit: number;
}

export interface AttemptRecord {
  readonly attempt: number;
  readonly holder: number | undefined;
  readonly startedAt: number | undefined;
  readonly endedAt: number;
  readonly outcome: 'retried' | 'released' | 'expired' | 'completed' | 'failed' | 'cancelled' | 'parked';
  readonly error: string | undefined;
}

export interface QueueRecord {
  readonly name: string;
  readonly paused: boolean;
  readonly stats: QueueStats;
}

export interface PruneQuery {
  readonly duty: DutyTerm;
  readonly retentionMs: number;
  readonly limit: number;
}

export interface PruneAnswer {
  readonly tasks: number;
  readonly events: number;
  readonly workers: number;
  /** True when the walk has come round: nothing more to do for now. */
  readonly done: boolean;
}

export interface Drift {
  readonly queue: string;
  readonly state: TaskState;
  readonly counted: number;
  readonly kept: number;
}

export type CancelAnswer = 'cancelled' | 'requested' | 'finished' | 'unknown';

export type ReviveAnswer =
  | { readonly ok: true; readonly lane: number }
  | { readonly ok: false; readonly state: TaskState | undefined };
