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
import type { SignedTask } from '../../protocol/signed-task.ts';
import type { ArtifactReader } from '../artifacts/attempt-artifacts.ts';
import type { CredentialReader } from '../credentials/handler-credentials.ts';
import type { WorkspaceReader } from '../workspace/handler-workspace.ts';

/** One attempt as a runner sees it: the assignment without the proof and the time of its lease. */
export interface RunRequest
  extends Pick<Assignment, 'task' | 'attempt' | 'id' | 'queue' | 'handler' | 'payload' | 'tries' | 'maxTries'> {
  /** It needs a process that runs no other task before or after it: it may have killed its last worker. */
  readonly alone: boolean;
  /** Where traces are written. */
  readonly traceparent?: string | undefined;
  /** The signature that came with it, which nobody has checked yet. */
  readonly signed?: SignedTask | undefined;
  /** Those that it may read. */
  readonly credentials?: readonly string[] | undefined;
}

/** Takes the log lines and the progress of a run. Calls never throw and never block. */
export interface LogSink {
  line(stream: Stream, text: string): void;
  progress(value: unknown): void;
  /** Lines that were dropped on the way here. */
  drop?(lines: number, bytes: number): void;
  /** Much waits to be stored: who can wait with the next lines should. Undefined: it takes everything. */
  readonly full?: boolean;
  /** Calls back once, when it is no longer full. */
  onRoom?(listener: () => void): void;
}

/**
 * The durable calls of a run: to remember, to wait, to start other tasks. Faults of the store are waited out. After the end of
 * the lease they are refused with `LEASE_LOST`.
 */
export interface AttemptSession {
  journal(): Promise<readonly JournalValue[]>;
  /** After `parked`, `cancelled`, `ended` and `back` the run is over: nothing that it does then counts. */
  turn(turn: TurnRequest): Promise<Turned>;
  waited(): Promise<Waited | undefined>;
  results(tasks: readonly TaskRef[]): Promise<readonly TaskResult[]>;
  dependencies(): Promise<readonly (TaskResult & { readonly optional: boolean })[]>;
  /** Cancels children of this task, with all that they have started. */
  cancelChildren(tasks: readonly TaskRef[]): Promise<void>;
  /** The text of a definition, by its hash; undefined: it is not kept. */
  definition(hash: string): Promise<string | undefined>;
}

/** Makes the session at its first use: most short handlers never need one. */
export interface SessionProvider {
  readonly session: AttemptSession;
  /** Undefined: the run may read none. */
  readonly credentials?: CredentialReader | undefined;
  /** The files of its task; undefined: there is no worker behind it. */
  readonly artifacts?: ArtifactReader | undefined;
  /** Undefined: the worker makes no workspaces. */
  readonly workspaces?: WorkspaceReader | undefined;
}

/** Why a run is told to stop. `parked`: it gave its lease back in order to wait, and will run again. */
export type StopReason = 'cancelled' | 'timeout' | 'lost' | 'shutdown' | 'parked';

/** The abort signal at once, SIGTERM after `abortMs`, SIGKILL `termMs` after that. Inline runs have only the first step. */
export interface Ladder {
  readonly abortMs: number;
  readonly termMs: number;
}

/** How a run ended. `error` is the thrown value, or its description `{name, message, stack}`. */
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
  /** The run gave its lease back in order to wait: there is nothing to record. */
  | { readonly kind: 'parked' }
  /** The run could not be started; the task is not to blame. */
  | { readonly kind: 'unstarted'; readonly error: unknown };

export interface StoppableRun {
  /** Begins the stop ladder; a second call can only make it steeper. */
  stop(why: StopReason, ladder: Ladder): void;
}

export interface ActiveRun extends StoppableRun {
  /** Never rejects. Resolves when the handler has ended and no process of it is left. */
  readonly ended: Promise<RunOutcome>;
}

/** What a run without a promise calls. */
export interface RunHost extends SessionProvider {
  /** The handler has ended. Called once, and not before `begin` has returned. */
  ended(outcome: RunOutcome): void;
}

export interface Runner {
  /** Each run has a process of its own, apart from other runs and from the worker. */
  readonly isolates: boolean;
  /** The handlers that it can run; known after `start`. */
  readonly handlers: readonly string[];
  /** The run timeout of this handler, for tasks that set none. */
  timeoutMs?(handler: string): number | undefined;
  /** The input schema of a handler as JSON text, where it is known; after `start`. */
  schemaOf?(handler: string): string | undefined;
  /** Rejects when it cannot work, such as for a module that does not load, before any task is claimed. */
  start(): Promise<void>;
  run(request: RunRequest, sink: LogSink, sessions?: SessionProvider): ActiveRun;
  /** As `run`, for runs that are so short that a promise for each would cost more than they do. Never throws. */
  begin?(request: RunRequest, sink: LogSink, host: RunHost): StoppableRun;
  /** Ends all its processes; runs that are still active are killed. */
  close(): Promise<void>;
}
