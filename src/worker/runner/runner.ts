import type { Stream } from '../../core/task/log.ts';
import type {
  Assignment,
  JournalValue,
  TaskRef,
  TaskResult,
  Turned,
  TurnRequest,
  Waited,
} from '../../protocol/link.ts';

/** One attempt, as a runner sees it: of what was assigned nothing that proves or bounds the lease. */
export interface RunRequest
  extends Pick<Assignment, 'task' | 'attempt' | 'id' | 'queue' | 'handler' | 'payload' | 'tries' | 'maxTries'> {
  /** Runs in a process of its own that serves nobody before or after: it may be what killed its worker. */
  readonly alone: boolean;
  /** Of its trace, where there is one. */
  readonly traceparent?: string | undefined;
}

/** Where a run says what happens; calls never throw and never block. */
export interface LogSink {
  line(stream: Stream, text: string): void;
  progress(value: unknown): void;
}

/**
 * What a run may ask of its worker: to remember, to wait, to start others. Faults of the store are waited out; what cannot
 * be any more is refused with `LEASE_LOST`.
 */
export interface AttemptSession {
  journal(): Promise<readonly JournalValue[]>;
  /** After `parked`, `cancelled`, `ended` and `back` the run is over: whatever it does then counts no more. */
  turn(turn: TurnRequest): Promise<Turned>;
  waited(): Promise<Waited | undefined>;
  results(tasks: readonly TaskRef[]): Promise<readonly TaskResult[]>;
  dependencies(): Promise<readonly (TaskResult & { readonly optional: boolean })[]>;
}

/** Whoever has a desk; it is made when somebody asks for it, as most short handlers never do. */
export interface SessionProvider {
  readonly session: AttemptSession;
}

/** Why a run is told to stop. `parked`: it has given its lease back in order to wait, and will come again. */
export type StopReason = 'cancelled' | 'timeout' | 'lost' | 'shutdown' | 'parked';

/** Abort signal at once, SIGTERM after `abortMs`, SIGKILL `termMs` after that. What is inline knows only the first step. */
export interface Ladder {
  readonly abortMs: number;
  readonly termMs: number;
}

/** How a run came out. `error` is whatever was thrown, or its plain description `{name, message, stack}`. */
export type RunOutcome =
  | { readonly kind: 'done'; readonly result: unknown }
  | {
      readonly kind: 'retryAfter';
      readonly delayMs: number;
      readonly reason: unknown;
      readonly limit?: string | undefined;
    }
  | { readonly kind: 'giveUp'; readonly error: unknown }
  | { readonly kind: 'failed'; readonly error: unknown }
  /** It has given its lease back in order to wait: there is nothing to record. */
  | { readonly kind: 'parked' }
  /** It could not be started; the task is not to blame. */
  | { readonly kind: 'unstarted'; readonly error: unknown };

export interface ActiveRun {
  /** Never rejects. Resolves when the handler has come to its end and no process of it is left. */
  readonly ended: Promise<RunOutcome>;
  /** Walks down the ladder; a second call may only make it steeper. */
  stop(why: StopReason, ladder: Ladder): void;
}

export interface Runner {
  /** Runs are shielded from each other and from the worker, each in a process of its own. */
  readonly isolates: boolean;
  /** Handlers that it can run; known after `start`. */
  readonly handlers: readonly string[];
  /** How long a run of this handler may take when its task does not say. */
  timeoutMs?(handler: string): number | undefined;
  /** What it takes, as the JSON text of a JSON Schema, where that is known after `start`. */
  schemaOf?(handler: string): string | undefined;
  /** Refuses what cannot work, such as a module that does not load, before any task is claimed. */
  start(): Promise<void>;
  run(request: RunRequest, sink: LogSink, sessions?: SessionProvider): ActiveRun;
  /** Ends every process of it; runs that still go are stopped hard. */
  close(): Promise<void>;
}
