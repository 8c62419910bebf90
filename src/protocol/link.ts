import type { Lease } from '../core/lease.ts';
import type { LogEntry } from '../core/log.ts';
import type { TaskRequest } from '../core/push.ts';
import type { TaskState } from '../core/task.ts';
import type { HandlerSchema } from '../core/worker.ts';

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
  readonly timeoutMs: number | undefined;
  /** It was pushed to take the result of a task like it, if one is kept, and to keep its own for others. */
  readonly reuses?: boolean | undefined;
}

export interface Want {
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
export interface Remembered {
  readonly key: string;
  readonly value: string;
}

/** A task by its number or its public id. */
export type TaskRef = number | string;

/** What a running task waits for; without a channel and children it is its time alone. */
export interface Waiting {
  /** Names the wait among those of the task: its outcome is told under it. */
  readonly key: string;
  /** Counts the waits of the attempt: one that comes after a later one was sent twice, and changes nothing. */
  readonly turn?: number;
  readonly channel?: string;
  /** What people are shown who decide: any JSON value. */
  readonly form?: unknown;
  readonly children?: readonly TaskRef[];
  /** The first child that ends is enough. */
  readonly any?: boolean;
  /** Woken after so long whatever happens. */
  readonly timeoutMs?: number;
  /** The same as a calendar time, by the clock of the cluster; instead of `timeoutMs`. */
  readonly until?: number;
}

/**
 * `parked`: it waits, and its lease is gone. `woken`: what it would wait for is there, and it goes on with its lease; `body`
 * is the JSON text of the signal. `cancelled`: it was asked to stop, and has ended.
 */
export type Parked =
  | { readonly kind: 'parked' | 'cancelled' }
  | { readonly kind: 'woken'; readonly body?: string | undefined };

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
export interface ChildRequest extends TaskRequest {
  /** Operation id: a repeat leads to the same child. */
  readonly op: string;
}

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

  claim(want: Want): Promise<readonly Assignment[]>;
  complete(lease: Assignment, result: unknown): Promise<void>;
  /** Resolves to what became of the task. */
  fail(lease: Assignment, error: unknown, options?: Failing): Promise<TaskState>;
  /** Gives the task back with its try. `bounced`: it was claimed in order to run it, and could not be started. */
  release(lease: Assignment, options?: { readonly bounced?: boolean; readonly delayMs?: number }): Promise<TaskState>;
  /** The task was stopped because somebody asked for it. */
  cancelled(lease: Assignment): Promise<void>;
  log(lease: Assignment, entries: readonly LogEntry[]): Promise<void>;

  /** All that the attempts of the task have remembered. A read. */
  checkpoints(lease: Assignment): Promise<readonly Remembered[]>;
  /** Remembers a value. Resolves to the JSON text that counts: the first that was ever put there. */
  checkpoint(lease: Assignment, key: string, value: unknown): Promise<string>;
  /** Gives the lease back until what is waited for has come. May be repeated. */
  park(lease: Assignment, wait: Waiting): Promise<Parked>;
  /** A read. */
  waited(lease: Assignment): Promise<Waited | undefined>;
  /** Pushes a child. One operation id leads to one child, however often and by whichever attempt it is asked for. */
  spawn(lease: Assignment, child: ChildRequest): Promise<{ readonly id: string; readonly task: number }>;
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
