import type { AfterFailure } from '../core/graph/graph.ts';
import type { HandlerSchema } from '../core/placement/worker.ts';
import type { Lease } from '../core/task/lease.ts';
import type { LogEntry } from '../core/task/log.ts';
import type { TaskRequest } from '../core/task/push.ts';
import type { TaskState } from '../core/task/task.ts';

/**
 * The way from a worker to the engine: direct (same process), by WebSocket or by HTTP. A worker knows nothing else of
 * the world that hands out its work, so that one program serves as library, built-in and remote worker.
 */
export interface Link {
  /** Registers this incarnation; its leases belong to the session. The signal ends the wait for one that is out of reach. */
  open(hello: Hello, signal?: AbortSignal): Promise<Session>;
}

export interface Hello {
  readonly name: string;
  /** Unique to this start of the process: an incarnation never inherits the leases of its predecessor. */
  readonly incarnation: string;
  readonly slots: number;
  readonly tags: readonly string[];
  readonly handlers: readonly string[];
  /** What they take, of those that can say it; each named once. */
  readonly schemas?: readonly HandlerSchema[] | undefined;
  /** Takes tasks of whichever handler; it names none then. */
  readonly anyHandler?: boolean | undefined;
  /** Only these queues; undefined serves all. */
  readonly queues: readonly string[] | undefined;
  /** Higher ones are given work first. */
  readonly priority?: number | undefined;
  readonly version?: string | undefined;
  /** Where it runs; not given: where the link ends. */
  readonly host?: string | undefined;
  readonly pid?: number | undefined;
  /** Where a server has seen it come from. */
  readonly address?: string | undefined;
  /** The number of the secret that it came in by: it is given nothing once that has ended. Undefined: it needs none. */
  readonly token?: number | undefined;
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
  /** It was pushed to take the result of a task like it, if one is kept, and to keep its own for others. */
  readonly reuses?: boolean | undefined;
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
  /** Come back this much later; the try is given back. */
  readonly retryAfterMs?: number;
  /** Which of its limits shall wait with it; without a name those that have a rate or a cost. */
  readonly limit?: string;
}

/** A value that an attempt has remembered, as JSON text. */
export interface JournalValue {
  readonly key: string;
  readonly value: string;
}

/** A task by its number or its public id. */
export type TaskRef = number | string;

/** What a running task waits for; without a channel and children it is its time alone. */
export interface WaitFor {
  /** Names the wait among those of the task: its outcome is told under it. */
  readonly key: string;
  /** Counts the waits of the attempt: one that comes after a later one was sent twice, and changes nothing. */
  readonly nth?: number;
  readonly channel?: string;
  /** What people are shown who decide: any JSON value. */
  readonly form?: unknown;
  /** Tasks, or children that are born in the same turn. */
  readonly children?: readonly (TaskRef | ChildKey)[];
  /** So many ends of children are enough; not given: all. */
  readonly need?: number;
  /** Woken after so long whatever happens. */
  readonly timeoutMs?: number;
  /** The same as a calendar time, by the clock of the cluster; instead of `timeoutMs`. */
  readonly until?: number;
}

/** A child by the key of its entry. */
export interface ChildKey {
  readonly child: string;
}

/** What an attempt commits at once: all of it, or nothing. */
export interface TurnRequest {
  /** What it writes into the journal of its task. No key comes twice. */
  readonly entries: readonly TurnEntry[];
  readonly then: TurnThen;
}

export type TurnEntry = ValueEntry | ChildEntry | SignalEntry;

/** Remembers a value; the first one under a key stays. */
export interface ValueEntry {
  readonly key: string;
  readonly kind: 'value' | 'element' | 'mark' | 'wait';
  /** Any JSON value. */
  readonly value: unknown;
  /** When what it stands for was begun: calendar time. */
  readonly began?: number;
  /** What it took: any JSON value. */
  readonly usage?: unknown;
}

/** Starts a task whose parent is this one. A repeat of the entry leads to the same child. */
export interface ChildEntry {
  readonly key: string;
  readonly kind: 'child';
  readonly child: ChildRequest;
  /** What must have ended before. */
  readonly after?: readonly ChildNeed[];
  /** What becomes of it when something that it needs has failed or was cancelled; default `cancel`. */
  readonly afterFailure?: AfterFailure;
}

export interface ChildNeed {
  readonly on: TaskRef | ChildKey;
  /** Its end is waited for, whatever it is; default: it must have completed. */
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
 * What came of a turn. `parked`: it waits, and its lease is gone. `woken`: what it would wait for is there, and it goes on
 * with its lease; `body` is the JSON text of the signal. `cancelled`: it was asked to stop, and has ended instead.
 */
export interface Turned {
  readonly went: 'on' | 'parked' | 'woken' | 'ended' | 'back' | 'cancelled';
  /** Of a task that has ended or was given back. */
  readonly state?: TaskState | undefined;
  readonly body?: string | undefined;
  /**
   * The JSON text that counts under each key, in the order of the entries: the first that was ever put there. Of a child it
   * has its `id` and its number `task`. Null: the task has ended instead.
   */
  readonly entries: readonly (string | null)[];
}

/** What a task waited for last, and what came of it. */
export interface Waited {
  readonly key: string;
  readonly outcome: 'open' | 'woken' | 'timed_out';
  /** JSON text of the signal; a wake-up without one says only that it waits no longer. */
  readonly body?: string | undefined;
  /** Of its time, if it had one. */
  readonly leftMs?: number | undefined;
}

/** A task that a running one starts. */
export type ChildRequest = TaskRequest;

/** How another task stands. */
export interface TaskResult {
  readonly task: number;
  /** The public id; undefined with a task that is no longer kept. */
  readonly id: string | undefined;
  readonly state: TaskState | 'gone';
  /** JSON text: the result of what has completed, the error of what has failed. */
  readonly result: string | undefined;
}

/** What a task like this one has come to. */
export interface Reusable {
  /** The public id of that task, which may be gone. */
  readonly id: string;
  /** JSON text; undefined: nothing. */
  readonly result: string | undefined;
}

/** What a renewal hears of each lease. */
export type RenewalAnswer = 'held' | 'cancel' | 'lost';

export type WorkerState = 'online' | 'draining' | 'offline';

/**
 * Everything but `claim`, `beat`, `close` and what only reads is fenced: it rejects with `LEASE_LOST` when another attempt
 * owns the task.
 */
export interface Session {
  /** How long a lease holds without being renewed. */
  readonly leaseMs: number;
  /** How often it should say that it lives; undefined: every ten seconds. */
  readonly heartbeatMs?: number | undefined;
  /** How long a handler may run where neither it nor the task says so; undefined sets no bound. */
  readonly runTimeoutMs?: number | undefined;
  /** Comes, with the reason, when the other side lets this worker in no more; a break that may heal is no reason. */
  readonly over?: Promise<Error> | undefined;
  /** What a thread needs in order to renew by itself; undefined: this link renews from the loop only. */
  readonly renewal: RenewalAddress | undefined;
  /** How long after the last renewal the next is due; default a third of a lease. */
  readonly renewMs?: number | undefined;
  /** How long lines of a log are gathered before they are sent; default 50 ms. */
  readonly logPaceMs?: number | undefined;

  claim(request: ClaimRequest): Promise<readonly Assignment[]>;
  complete(lease: Assignment, result: unknown): Promise<void>;
  /** Resolves to what became of the task. */
  fail(lease: Assignment, error: unknown, options?: Failing): Promise<TaskState>;
  /** Gives the task back with its try. `bounced`: it was claimed in order to run it, and could not be started. */
  release(lease: Assignment, options?: { readonly bounced?: boolean; readonly delayMs?: number }): Promise<TaskState>;
  /** The task was stopped because somebody asked for it. */
  cancelled(lease: Assignment): Promise<void>;
  log(lease: Assignment, entries: readonly LogEntry[]): Promise<void>;

  /** All that the attempts of the task have written into its journal, as `Turned.entries` tells it. A read. */
  journal(lease: Assignment): Promise<readonly JournalValue[]>;
  /** Commits a turn of the attempt. May be repeated: what was written once is not written again. */
  turn(lease: Assignment, turn: TurnRequest): Promise<Turned>;
  /** A read. */
  waited(lease: Assignment): Promise<Waited | undefined>;
  /** How these tasks stand, in the same order. A read. */
  results(lease: Assignment, tasks: readonly TaskRef[]): Promise<readonly TaskResult[]>;
  /** How the tasks stand that this one waited for. A read. */
  dependencies(lease: Assignment): Promise<readonly (TaskResult & { readonly optional: boolean })[]>;

  /** The kept result that may take the place of a run, if there is one. A read. */
  reusable(lease: Assignment): Promise<Reusable | undefined>;
  /** Keeps the result for tasks like this one; before it is completed. May be repeated. */
  keep(lease: Assignment, result: unknown): Promise<void>;

  renew(leases: readonly Lease[]): Promise<readonly RenewalAnswer[]>;
  /** Leases of this session that somebody has asked to stop. */
  cancels(): Promise<readonly Lease[]>;
  /** Calls back with the number of a task that was just asked to stop; a hint, `cancels` is what counts. */
  onCancel(listener: (task: number) => void): () => void;
  beat(state: WorkerState): Promise<void>;
  close(): Promise<void>;
}

/** A module that exports `openRenewals(data): Promise<Renewals>`, and what to hand to it; both can be cloned to a thread. */
export interface RenewalAddress {
  readonly module: string;
  readonly data: unknown;
}

/** The link of a renewal thread: its own connection, which a blocked loop cannot hold up. */
export interface Renewals {
  renew(leases: readonly Lease[], leaseMs: number): Promise<readonly RenewalAnswer[]>;
  /** Ends an attempt whose loop is blocked past its run timeout. */
  blocked(lease: Lease, afterMs: number): Promise<void>;
  close(): Promise<void>;
}
