import type { FeedEvent, QueueStats } from '../core/event.ts';
import type { MissedPolicy } from '../core/schedule.ts';
import type { TaskState } from '../core/task.ts';
import type { WorkerState } from '../core/worker.ts';
import type { DependencyStore } from './dependency-store.ts';
import type { DocumentStore } from './document-store.ts';
import type { InsightStore } from './insight-store.ts';
import type { LimitStore } from './limit-store.ts';
import type { NodeStore } from './node-store.ts';
import type { DutyTerm, LaneWish, NewTask, PushAnswer, QueueStore, TaskRecord } from './queue-store.ts';
import type { ResultStore } from './result-store.ts';
import type { TokenStore } from './token-store.ts';
import type { TreeStore } from './tree-store.ts';
import type { TurnStore } from './turn-store.ts';
import type { WaitStore } from './wait-store.ts';

export type * from './dependency-store.ts';
export type * from './document-store.ts';
export type * from './insight-store.ts';
export type * from './limit-store.ts';
export type * from './node-store.ts';
export type * from './queue-store.ts';
export type * from './result-store.ts';
export type * from './token-store.ts';
export type * from './tree-store.ts';
export type * from './turn-store.ts';
export type * from './wait-store.ts';

/**
 * The port: everything the engine asks of durable storage. An adapter reads and compares-and-sets; the rules live in
 * `core/`. Every adapter passes the suite in `conformance/`, and a new verb starts there.
 */
export interface Store
  extends QueueStore,
    LimitStore,
    DependencyStore,
    WaitStore,
    TurnStore,
    TreeStore,
    ResultStore,
    TokenStore,
    NodeStore,
    DocumentStore,
    InsightStore {
  /** The key of the public ids: 32 hex digits, made once with the data and copied with it. */
  readonly clusterKey: string;

  /** Pushes inside the caller's own transaction: nothing exists until the caller commits. */
  taskPushIn(params: PushInParams): readonly PushAnswer[] | Promise<readonly PushAnswer[]>;

  specIntern(params: { readonly specs: readonly string[] }): Promise<readonly number[]>;
  specGet(params: { readonly spec: number }): Promise<string | undefined>;

  /** Ends what does not run; asks the worker of what does. */
  taskCancel(params: { readonly tasks: readonly number[] }): Promise<readonly CancelAnswer[]>;
  /** Makes finished tasks ready again: tries 0, the attempt keeps growing. */
  taskRevive(params: ReviveParams): Promise<readonly ReviveAnswer[]>;
  taskList(params: TaskQuery): Promise<readonly TaskRecord[]>;
  /** The first ready tasks of these lanes, in the order in which a claim would take them. Reads only. */
  taskReady(params: { readonly lanes: readonly number[]; readonly limit: number }): Promise<readonly ReadyTask[]>;
  /** The task that has this unique key, finished or not. */
  taskByKey(params: { readonly queue: string; readonly key: string }): Promise<number | undefined>;
  /** What time it is for this store. */
  clock(): Promise<StoreTime>;
  /** Attempts that did not end their task, oldest first; the last attempt is the task's own record. */
  attemptList(params: { readonly task: number }): Promise<readonly AttemptRecord[]>;

  queuePause(params: { readonly queue: string; readonly paused: boolean }): Promise<void>;
  queueList(): Promise<readonly QueueRecord[]>;

  /** A new row for each process start: an incarnation never inherits the leases of its predecessor. */
  workerRegister(params: NewWorker): Promise<number>;
  /**
   * What is said of a worker by its name: holds at once for those that live, and for all that come. Of several changes at a time none undoes
   * what another one says of something else.
   */
  workerSet(params: WorkerSetting): Promise<void>;
  workerSettings(): Promise<readonly WorkerSettingRecord[]>;
  /**
   * Forgets what was said of a worker's name and ends its secrets and codes, all or nothing. Workers that live under the name
   * keep what they have: they are not switched off, only their revision grows. The next one that registers begins with nothing.
   */
  workerForget(params: { readonly name: string }): Promise<Forgotten>;
  /** The workers that are expected to beat, and how many tasks each has. */
  workerFleet(): Promise<FleetSight>;
  /** Says which of them are known: one that is not was pruned or never registered, and must register. */
  workerBeat(params: { readonly beats: readonly WorkerBeat[] }): Promise<readonly boolean[]>;
  workerEnable(params: { readonly worker: number; readonly enabled: boolean }): Promise<void>;
  /** All, or those in one state: of thousands few are lost, and the others need not be read to see who. */
  workerList(params?: { readonly state?: WorkerState }): Promise<readonly WorkerRecord[]>;
  /** Marks those as lost that should beat and have not done so for `staleMs`; says which. */
  workerReap(params: { readonly duty: DutyTerm; readonly staleMs: number }): Promise<readonly number[]>;

  /** Takes a duty that nobody holds; undefined while somebody does. */
  dutyTake(params: {
    readonly name: string;
    readonly holder: string;
    readonly ttlMs: number;
  }): Promise<Tenure | undefined>;
  dutyRenew(params: { readonly duty: DutyTerm; readonly ttlMs: number }): Promise<boolean>;
  dutyRelease(params: { readonly duty: DutyTerm }): Promise<void>;

  /** Events numbered above `after`, in order. */
  eventRead(params: { readonly after: number; readonly limit: number }): Promise<EventPage>;

  /** Gives numbers to events that have none yet; a store that numbers them as it writes them has nothing to do. */
  eventNumber(params: { readonly duty: DutyTerm; readonly limit: number }): Promise<NumberAnswer>;

  /** One step of removing what is older than the retention; goes on from the duty's cursor. */
  taskPrune(params: PruneQuery): Promise<PruneAnswer>;
  /** Recounts the counters from the rows, repairs them and reports every difference. */
  statsAudit(params: { readonly duty: DutyTerm }): Promise<readonly Drift[]>;

  /** An unchanged schedule keeps its place. Answers the next slot. */
  triggerPut(params: { readonly trigger: NewTrigger }): Promise<number>;
  triggerRemove(params: { readonly name: string }): Promise<boolean>;
  triggerList(): Promise<readonly TriggerRecord[]>;
  /** Triggers whose next slot has come, and when the next one will. */
  triggerDue(params: { readonly limit: number }): Promise<DueTriggers>;
  /** Moves a trigger from one slot to the next and pushes the slots' tasks, all or nothing. */
  triggerFire(params: TriggerFiring): Promise<TriggerAnswer>;
}

/** The caller's own transaction on the same data, as its client offers it. */
export type CallerTransaction = SqliteTransaction | PostgresTransaction;

/** The least that a caller's SQLite handle must offer; `DatabaseSync` and better-sqlite3 both do. */
export interface SqliteTransaction {
  prepare(sql: string): unknown;
}

/** The least that a caller's Postgres client must offer; those of `pg` and others do. */
export interface PostgresTransaction {
  query(sql: string, values: unknown[]): Promise<{ readonly rows: readonly unknown[] }>;
}

export interface PushInParams {
  readonly tx: CallerTransaction;
  readonly items: readonly NamedTask[];
}

export interface NumberAnswer {
  /** How many events got their numbers. */
  readonly events: number;
  readonly more: boolean;
}

/** What the store's two clocks say. */
export interface StoreTime {
  readonly calendar: number;
  readonly lease: number;
}

/** A task for the caller's own transaction: its lane and spec are interned there too, if they are new. */
export interface NamedTask extends Omit<NewTask, 'lane' | 'spec'>, LaneWish {
  readonly specBody: string;
}

export type CancelAnswer = 'cancelled' | 'requested' | 'finished' | 'unknown';
export interface ReviveParams {
  readonly tasks: readonly number[];
  /** Entries of journals that go with it, of those that are revived. */
  readonly forget?: readonly { readonly task: number; readonly key: string }[] | undefined;
}
export type ReviveAnswer =
  | { readonly ok: true; readonly lane: number }
  | { readonly ok: false; readonly state: TaskState | undefined };

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

export interface ReadyTask {
  readonly task: number;
  readonly lane: number;
  readonly priority: number;
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

export interface NewWorker {
  readonly name: string;
  readonly incarnation: string;
  readonly slots: number;
  readonly tags: readonly string[];
  readonly host?: string | undefined;
  readonly pid?: number | undefined;
  readonly handlers?: readonly string[] | undefined;
  /** The queues that it serves; not given: all. */
  readonly queues?: readonly string[] | undefined;
  /** Higher ones are given work first; default 0. */
  readonly priority?: number | undefined;
  readonly version?: string | undefined;
  /** Where the server saw it come from. */
  readonly address?: string | undefined;
  /** Also as an event in the feed. */
  readonly told?: boolean | undefined;
}

export interface FleetSight {
  /** Lease time, in which `seenAt` is told. */
  readonly now: number;
  readonly members: readonly FleetMember[];
}

export interface FleetMember extends WorkerRecord {
  readonly running: number;
}

/** What is not given stays as it was. */
export interface WorkerSetting {
  readonly name: string;
  readonly enabled?: boolean | undefined;
  /** Instead of the worker's own; null gives it back its own. */
  readonly priority?: number | null | undefined;
  /** Tags besides those that the worker brings: all of them, in the place of those that there were. */
  readonly tags?: readonly string[] | undefined;
  /** Some more of them, whatever others there are by then. */
  readonly addTags?: readonly string[] | undefined;
  /** Some of them no longer; what is in both is taken away. */
  readonly removeTags?: readonly string[] | undefined;
}

export interface WorkerSettingRecord {
  readonly name: string;
  readonly enabled: boolean;
  readonly priority: number | undefined;
  readonly tags: readonly string[];
}

export interface Forgotten {
  /** Whether something was said of the name. */
  readonly setting: boolean;
  /** How many tokens were live. */
  readonly tokens: number;
}

/** What is not given stays as it was; null takes it away. */
export interface WorkerBeat {
  readonly worker: number;
  /** Default: what it was; one that was starting or lost is online. */
  readonly state?: Exclude<WorkerState, 'lost'> | undefined;
  /** A free word of the worker's own. */
  readonly status?: string | null | undefined;
  /** JSON text. */
  readonly metadata?: string | null | undefined;
  /** Tasks that it has ended since the beat before; added to the total of its name. */
  readonly ended?: number | undefined;
  /** Also as an event in the feed. */
  readonly told?: boolean | undefined;
}

export interface WorkerRecord
  extends Omit<NewWorker, 'host' | 'pid' | 'handlers' | 'queues' | 'priority' | 'version' | 'address' | 'told'> {
  readonly worker: number;
  readonly state: WorkerState;
  readonly enabled: boolean;
  /** The last beat, in lease time. */
  readonly seenAt: number;
  /** When it registered, in calendar time. */
  readonly startedAt: number | undefined;
  readonly host: string | undefined;
  readonly pid: number | undefined;
  readonly handlers: readonly string[];
  readonly queues: readonly string[] | undefined;
  readonly priority: number;
  readonly version: string | undefined;
  /** Grows with every change that placement looks at. */
  readonly revision: number;
  readonly status: string | undefined;
  readonly metadata: string | undefined;
  readonly address: string | undefined;
  /** Tasks that all who came under its name have ended, as their beats have told. */
  readonly totalTasks: number;
}

/** A term of office. `vacant` says that the one before ended in order, so that nothing can have been missed. */
export interface Tenure extends DutyTerm {
  readonly cursor: number;
  readonly vacant: boolean;
}

export interface EventPage {
  readonly events: readonly FeedEvent[];
  /**
   * Set when events above `after` are no longer kept, or when `after` lies ahead of the newest one (the store was restored
   * from a backup): the reader must start over from a fresh look at the state.
   */
  readonly reset: boolean;
  /** Give this as `after` next time. */
  readonly last: number;
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

export interface NewTrigger {
  readonly name: string;
  readonly lane: number;
  readonly spec: number;
  readonly cron: string;
  readonly timezone: string;
  readonly missed: MissedPolicy;
  readonly priority: number;
  readonly maxTries: number;
  readonly payload: string;
  readonly nextAt: number;
}

export interface TriggerRecord extends NewTrigger {
  readonly queue: string;
  readonly handler: string;
}

export interface DueTriggers {
  readonly now: number;
  readonly triggers: readonly TriggerRecord[];
  readonly nextInMs: number | undefined;
}

export interface TriggerFiring {
  readonly duty: DutyTerm;
  readonly name: string;
  /** The slot that the caller saw: nothing happens when the trigger has moved on. */
  readonly from: number;
  readonly nextAt: number;
  readonly items: readonly NewTask[];
}

export interface TriggerAnswer {
  readonly moved: boolean;
  readonly pushed: readonly PushAnswer[];
}
