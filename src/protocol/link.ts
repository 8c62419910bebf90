import type { AfterFailure } from '../core/graph/graph.ts';
import type { Amount, Spending } from '../core/limits/budget.ts';
import type { HandlerSchema } from '../core/placement/worker.ts';
import type { Lease } from '../core/task/lease.ts';
import type { LogEntry } from '../core/task/log.ts';
import type { TaskRequest } from '../core/task/push.ts';
import type { TaskState } from '../core/task/task.ts';
import type { ArtifactLink, ArtifactTransfers } from './artifact-link.ts';
import type { CredentialFeed, VaultReport } from './credential-envelope.ts';
import type { ReleaseReport, UpgradeOrder } from './frames.ts';

/**
 * The way from a worker to the engine: direct (same process), by WebSocket or by HTTP. A worker knows nothing else of the
 * engine, so that one program serves as library, built-in and remote worker.
 */
export interface Link {
  /**
   * Registers this incarnation; its leases belong to the session. The signal ends the wait for an engine that is out of
   * reach.
   */
  open(hello: Hello, signal?: AbortSignal): Promise<Session>;
}

export interface Hello {
  readonly name: string;
  /** Unique to this start of the process: an incarnation never inherits the leases of its predecessor. */
  readonly incarnation: string;
  readonly slots: number;
  readonly tags: readonly string[];
  readonly handlers: readonly string[];
  /** The input schemas of the handlers that have one; each handler is named once. */
  readonly schemas?: readonly HandlerSchema[] | undefined;
  /** Takes tasks of any handler. `handlers` is empty then. */
  readonly anyHandler?: boolean | undefined;
  /** Only these queues; undefined serves all. */
  readonly queues: readonly string[] | undefined;
  /** Workers with a higher priority get work first. */
  readonly priority?: number | undefined;
  /** The ticket that its pool has started it with: it is good once. Refused with `TICKET_REFUSED` otherwise. */
  readonly ticket?: string | undefined;
  readonly version?: string | undefined;
  /** The host that it runs on; default: the host at the other end of the link. */
  readonly host?: string | undefined;
  readonly pid?: number | undefined;
  /** The address that a server has seen it come from. */
  readonly address?: string | undefined;
  /**
   * The number of the secret that it authenticated with. It is granted nothing once that secret has ended. Undefined: it
   * needs none.
   */
  readonly token?: number | undefined;
  /** Where it keeps credentials. Null: it has no such place; undefined: what it said before stays. */
  readonly vault?: VaultReport | null | undefined;
  /** What it says of its program with each connection. */
  readonly release?: (() => ReleaseReport) | undefined;
  /** What a node knows it by (`NameTaker`). Undefined: it takes no name, because it works on the store itself. */
  readonly holder?: string | undefined;
}

/** One task to run, and the lease to run it under. */
export interface Assignment extends Lease {
  /** The public id. */
  readonly id: string;
  readonly queue: string;
  readonly handler: string;
  /** JSON text. */
  readonly payload: string;
  readonly tries: number;
  readonly maxTries: number;
  readonly createdAt: number;
  /** The lease of an earlier attempt ran out under its worker: this task may be what killed it. */
  readonly suspect: boolean;
  /** How long the handler may run; undefined sets no bound. */
  readonly timeoutMs?: number | undefined;
  /**
   * Pushed with `reuse`: a kept result of a task like it may take the place of the run, and its own result is kept for
   * others.
   */
  readonly reuses?: boolean | undefined;
  /** The credentials that its placement names: its handler may read these and no others. */
  readonly credentials?: readonly string[] | undefined;
}

export interface ClaimRequest {
  readonly max: number;
  /** Wait this long for the first task. */
  readonly waitMs: number;
  readonly signal: AbortSignal;
}

export interface Failing {
  /** No retry, whatever the budget says. */
  readonly giveUp?: boolean;
  /** Runs again this much later, and the try is given back. */
  readonly retryAfterMs?: number;
  /** The limit that is paused with it; default: those of its limits that have a rate or a cost. */
  readonly limit?: string;
}

/** A value in the journal of a task, as JSON text. */
export interface JournalValue {
  readonly key: string;
  readonly value: string;
  /** The entry bore a child. A value under the same key is what a worker has written, and names nobody's task. */
  readonly child?: true | undefined;
}

/** A task by its number or its public id. */
export type TaskRef = number | string;

/** What a running task waits for. Without a channel and children it waits for the time alone. */
export interface WaitFor {
  /** Names the wait within the task; its outcome is reported under it. */
  readonly key: string;
  /** Counts the waits of the attempt. A wait with a number below the last one is a repeat and changes nothing. */
  readonly nth?: number;
  readonly channel?: string;
  /** Shown to the people who decide: any JSON value. */
  readonly form?: unknown;
  /** Own channels of the task (its id, a colon, a name) and approvals that wake it as well. Approvals come first. */
  readonly others?: readonly OtherWait[];
  /** Tasks, or children that are spawned in the same turn. */
  readonly children?: readonly (TaskRef | ChildKey)[];
  /** How many children must have ended; default: all. */
  readonly need?: number;
  /** Wakes the task after so long, whatever happens. */
  readonly timeoutMs?: number;
  /** The same as a calendar time by the clock of the cluster, instead of `timeoutMs`. */
  readonly until?: number;
}

/** One of several that a task waits for at once. */
export interface OtherWait {
  readonly key: string;
  readonly channel?: string;
  readonly form?: unknown;
}

/** A child by the key of its entry. */
export interface ChildKey {
  readonly child: string;
}

/** What an attempt commits at once: all of it, or nothing. */
export interface TurnRequest {
  /** Entries for the journal of the task. No key comes twice. */
  readonly entries: readonly TurnEntry[];
  /**
   * What the call after this turn may cost, of a turn that goes on: it is reserved in the budgets of the tree. If there is too little
   * left, the task waits for more instead of going on (`Turned.budget`). Needs an entry: a repeat is known by it, and draws once.
   */
  readonly draw?: readonly Amount[] | undefined;
  /** What calls have used since they were drawn for. */
  readonly spend?: readonly Spending[] | undefined;
  readonly then: TurnThen;
}

export type TurnEntry = ValueEntry | ChildEntry | SignalEntry;

/** Keeps a value. The first value under a key stays. */
export interface ValueEntry {
  readonly key: string;
  readonly kind: 'value' | 'element' | 'mark' | 'wait';
  /** Any JSON value. */
  readonly value: unknown;
  /** When the step that it stands for began: calendar time. */
  readonly began?: number;
  /** What the step used: any JSON value. */
  readonly usage?: unknown;
}

/** Starts a task whose parent is this one. A repeat of the entry leads to the same child. */
export interface ChildEntry {
  readonly key: string;
  readonly kind: 'child';
  readonly child: ChildRequest;
  /** The tasks that must have ended before. */
  readonly after?: readonly ChildNeed[];
  /** What becomes of it when something that it needs has failed or was cancelled; default `cancel`. */
  readonly afterFailure?: AfterFailure;
}

export interface ChildNeed {
  readonly on: TaskRef | ChildKey;
  /** Any end will do; default: it must have completed. */
  readonly optional?: boolean;
}

/** Sends a signal, once. */
export interface SignalEntry {
  readonly key: string;
  readonly kind: 'signal';
  readonly channel: string;
  /** Any JSON value. */
  readonly body: unknown;
  readonly broadcast?: boolean;
}

/** How the attempt goes on. */
export type TurnThen =
  | { readonly go: 'on' }
  | (WaitFor & { readonly go: 'park' })
  | { readonly go: 'complete'; readonly result?: unknown }
  | (Failing & { readonly go: 'fail'; readonly error: unknown });

/**
 * The result of a turn. `parked`: the task waits, and its lease is gone. `woken`: what it would wait for is there already,
 * and it goes on with its lease; `body` is the JSON text of the signal. `cancelled`: it was asked to stop, and has ended
 * instead.
 */
export interface Turned {
  readonly went: 'on' | 'parked' | 'woken' | 'ended' | 'back' | 'cancelled';
  /** The state of a task that has ended or was given back. */
  readonly state?: TaskState | undefined;
  readonly body?: string | undefined;
  /** Of a signal for one of the `others`: the key of that one. */
  readonly key?: string | undefined;
  /**
   * The JSON text that counts under each key, in the order of the entries: the first that was ever written there. For a
   * child it has its `id` and its number `task`. Null: the task has ended instead.
   */
  readonly entries: readonly (string | null)[];
  /** Of a turn that drew or has spent, if its tree has a budget. */
  readonly budget?: BudgetNews | undefined;
}

export interface BudgetNews {
  /** A soft bound was reached, by this turn or before. */
  readonly soft?: boolean | undefined;
  /** There was too little left: the task is parked until there is more. What the turn said is written. */
  readonly waits?: boolean | undefined;
}

/** The last wait of a task, and its outcome. */
export interface Waited {
  readonly key: string;
  readonly outcome: 'open' | 'woken' | 'timed_out';
  /** JSON text of the signal; absent after a wake-up without one. */
  readonly body?: string | undefined;
  /** What is left of its timeout, if it had one. */
  readonly leftMs?: number | undefined;
}

/** A task that a running task spawns. */
export type ChildRequest = TaskRequest;

/** The state of another task. */
export interface TaskResult {
  readonly task: number;
  /** The public id; undefined when the task is no longer kept. */
  readonly id: string | undefined;
  readonly state: TaskState | 'gone';
  /** JSON text: the result of a completed task, the error of a failed one. */
  readonly result: string | undefined;
}

/** The kept result of a task like this one. */
export interface Reusable {
  /** The public id of that task, which may no longer be kept. */
  readonly id: string;
  /** JSON text; undefined: it had no result. */
  readonly result: string | undefined;
}

/** The answer of a renewal for each lease. */
export type RenewalAnswer = 'held' | 'cancel' | 'lost';

export interface Completion {
  readonly lease: Assignment;
  readonly result: unknown;
}

export type WorkerState = 'online' | 'draining' | 'offline';

/** Its own word for its status, and figures: any JSON value of at most 64 KiB. */
export interface WorkerReport {
  readonly status?: string | null;
  readonly metadata?: unknown;
}

/**
 * Every call is fenced except `claim`, `beat`, `close` and the reads: it rejects with `LEASE_LOST` when another attempt owns
 * the task.
 */
export interface Session {
  /** How long a lease holds without being renewed. */
  readonly leaseMs: number;
  /** How often it should send a heartbeat; default: every ten seconds. */
  readonly heartbeatMs?: number | undefined;
  /** How long a handler may run when neither it nor the task sets a timeout; undefined sets no bound. */
  readonly runTimeoutMs?: number | undefined;
  /**
   * Resolves with the reason when the other side admits this worker no more. A broken connection that may come back does not
   * resolve it.
   */
  readonly over?: Promise<Error> | undefined;
  /** What a thread needs to renew by itself; undefined: this link renews from the event loop only. */
  readonly renewal: RenewalAddress | undefined;
  /** How long after a renewal the next one is due; default a third of a lease. */
  readonly renewMs?: number | undefined;
  /** A claim shares no commit with the ends of tasks: it had better be on its way while handlers run. */
  readonly claimsApart?: boolean | undefined;
  /** How long log lines are batched before they are sent; default 50 ms. */
  readonly logPaceMs?: number | undefined;
  /** The credentials that the worker is given; undefined: this link brings none. */
  readonly credentials?: CredentialFeed | undefined;
  /** The files that tasks leave behind; undefined: this link stores none. */
  readonly artifacts?: ArtifactLink | undefined;
  /** The same for the node that serves this session to a worker elsewhere. */
  readonly artifactTransfers?: ArtifactTransfers | undefined;

  claim(request: ClaimRequest): Promise<readonly Assignment[]>;
  complete(lease: Assignment, result: unknown): Promise<void>;
  /**
   * As `complete` for several, with one promise for all of them. Answers in the same order, for each nothing or the error that
   * `complete` rejects with. Rejects when it is not known what became of them: each can then be completed by itself. A link
   * that cannot do better than `complete` for each has none.
   */
  readonly completeMany?: ((ends: readonly Completion[]) => Promise<readonly (Error | undefined)[]>) | undefined;
  /** Resolves to the state of the task after it. */
  fail(lease: Assignment, error: unknown, options?: Failing): Promise<TaskState>;
  /** Gives the task back with its try. `bounced`: the worker claimed it to run it and could not start it. */
  release(lease: Assignment, options?: { readonly bounced?: boolean; readonly delayMs?: number }): Promise<TaskState>;
  /** The task was stopped because somebody asked for it. `said`: what it left behind, kept with the task; only a node takes it. */
  cancelled(lease: Assignment, said?: unknown): Promise<void>;
  log(lease: Assignment, entries: readonly LogEntry[]): Promise<void>;

  /** Everything that the attempts of the task have written into its journal, in the form of `Turned.entries`. A read. */
  journal(lease: Assignment): Promise<readonly JournalValue[]>;
  /** Commits a turn of the attempt. May be repeated: entries that were written are not written again. */
  turn(lease: Assignment, turn: TurnRequest): Promise<Turned>;
  /** A read. */
  waited(lease: Assignment): Promise<Waited | undefined>;
  /** The states of these tasks, in the same order. A read. */
  results(lease: Assignment, tasks: readonly TaskRef[]): Promise<readonly TaskResult[]>;
  /** The states of the tasks that this one depended on. A read. */
  dependencies(lease: Assignment): Promise<readonly (TaskResult & { readonly optional: boolean })[]>;
  /** Cancels children of the task that it needs no more, with all that they have started. May be repeated. */
  cancelChildren(lease: Assignment, tasks: readonly TaskRef[]): Promise<void>;
  /** The text of a definition of a run, by its hash. A read. */
  definition(lease: Assignment, hash: string): Promise<string | undefined>;

  /** The kept result that may take the place of a run, if there is one. A read. */
  reusable(lease: Assignment): Promise<Reusable | undefined>;
  /** Keeps the result for tasks like this one; called before the task is completed. May be repeated. */
  keep(lease: Assignment, result: unknown): Promise<void>;

  renew(leases: readonly Lease[]): Promise<readonly RenewalAnswer[]>;
  /** Leases of this session whose tasks were asked to stop. */
  cancels(): Promise<readonly Lease[]>;
  /** Calls back with the number of a task that was just asked to stop. This is a hint; `cancels` is what counts. */
  onCancel(listener: (task: number) => void): () => void;
  /**
   * Calls back with the name of a queue that was just paused, so that nothing of it is started that was claimed ahead. This is
   * a hint; a link on which the engine cannot call the worker has none.
   */
  onPause?(listener: (queue: string) => void): () => void;
  /** Calls back when the worker is to come back as another release. A link that has no node has none. */
  onUpgrade?(listener: (order: UpgradeOrder) => void): () => void;
  /** `report`: what a worker of another program says of itself; workers of ours send none. */
  beat(state: WorkerState, report?: WorkerReport): Promise<void>;
  close(): Promise<void>;
}

/** A module that exports `openRenewals(data): Promise<Renewals>`, and its argument; both can be cloned to a thread. */
export interface RenewalAddress {
  readonly module: string;
  readonly data: unknown;
}

/** The link of a renewal thread: a connection of its own, which a blocked event loop cannot hold up. */
export interface Renewals {
  renew(leases: readonly Lease[], leaseMs: number): Promise<readonly RenewalAnswer[]>;
  /** Ends an attempt whose event loop is blocked past its run timeout. */
  blocked(lease: Lease, afterMs: number): Promise<void>;
  close(): Promise<void>;
}
