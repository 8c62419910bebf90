import type { Lease } from '../core/lease.ts';
import type { LogEntry } from '../core/log.ts';
import type { TaskState } from '../core/task.ts';

/**
 * The way from a worker to the engine: direct (same process), later WebSocket and HTTP. A worker knows nothing else of
 * the world that hands out its work, so that one program serves as library, built-in and remote worker.
 */
export interface Link {
  /** Registers this incarnation; its leases belong to the session. */
  open(hello: Hello): Promise<Session>;
}

export interface Hello {
  readonly name: string;
  /** Unique to this start of the process: an incarnation never inherits the leases of its predecessor. */
  readonly incarnation: string;
  readonly slots: number;
  readonly tags: readonly string[];
  readonly handlers: readonly string[];
  /** Only these queues; undefined serves all. */
  readonly queues: readonly string[] | undefined;
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
}

/** What a renewal hears of each lease. */
export type RenewalAnswer = 'held' | 'cancel' | 'lost';

export type WorkerState = 'online' | 'draining' | 'offline';

/** Everything but `claim`, `beat` and `close` is fenced: it rejects with `LEASE_LOST` when another attempt owns the task. */
export interface Session {
  /** How long a lease holds without being renewed. */
  readonly leaseMs: number;
  /** What a thread needs in order to renew by itself; undefined: this link renews from the loop only. */
  readonly renewal: RenewalAddress | undefined;

  claim(want: Want): Promise<readonly Assignment[]>;
  complete(lease: Assignment, result: unknown): Promise<void>;
  /** Resolves to what became of the task. */
  fail(lease: Assignment, error: unknown, options?: Failing): Promise<TaskState>;
  /** Gives the task back with its try. `bounced`: it was claimed in order to run it, and could not be started. */
  release(lease: Assignment, options?: { readonly bounced?: boolean; readonly delayMs?: number }): Promise<TaskState>;
  /** The task was stopped because somebody asked for it. */
  cancelled(lease: Assignment): Promise<void>;
  log(lease: Assignment, entries: readonly LogEntry[]): Promise<void>;

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
