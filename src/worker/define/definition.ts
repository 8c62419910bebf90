import type { Duration } from '../../core/duration.ts';
import type { LimitUseInput } from '../../core/limits/limit.ts';
import type { Permissions } from '../../core/placement/permissions.ts';
import type { PlacementInput } from '../../core/placement/placement.ts';
import type { RetryInput } from '../../core/task/retry.ts';
import type { ReuseInput } from '../../core/task/reuse.ts';
import type { ArtifactReader } from '../artifacts/attempt-artifacts.ts';
import type { TaskArtifacts } from '../artifacts/handler-artifacts.ts';
import type { CredentialReader, TaskCredentials } from '../credentials/handler-credentials.ts';
import type { DurableContext } from '../durable/durable-context.ts';
import type { AttemptSession, RunOutcome, RunRequest } from '../runner/runner.ts';
import type { TaskWorkspace, WorkspaceReader, WorkspaceWish } from '../workspace/handler-workspace.ts';
import type { PushableTask } from './pushable-task.ts';
import type { InferInput, InferOutput, StandardSchema } from './schema.ts';

/** The context that a handler gets beside its input. */
export interface TaskContext extends DurableContext {
  /** Public id of the task. */
  readonly id: string;
  readonly queue: string;
  /** Aborts when the task should stop: it was cancelled, timed out, lost its lease or parked, or the worker shuts down. */
  readonly signal: AbortSignal;
  /** The fence: grows with every attempt of the task. Pass it to storage that can refuse an older one. */
  readonly attempt: number;
  readonly fence: number;
  /** Tries used, this one included. */
  readonly tries: number;
  readonly maxAttempts: number;
  /** The trace context of the run, where traces are written: for the programs and services that it calls. */
  readonly traceparent?: string | undefined;
  /** The credentials that the placement of the task names. */
  readonly credentials: TaskCredentials;
  /** The files of the task: what it leaves behind, and what others of its tree have left. */
  readonly artifacts: TaskArtifacts;
  /** The folder that was prepared for the run, of a task that asks for one; else a `CONFLICT`. */
  readonly workspace: TaskWorkspace;
  /** Adds a line to the task's log. */
  log(message: string): void;
  /** Reports progress: any JSON value, such as 0.4 or { done: 4, of: 10 }. */
  progress(value: unknown): void;
}

export interface TaskOptions<S extends StandardSchema | undefined, R> {
  /** Any Standard Schema validator; applied at the push, and again, with its transforms, before the run. */
  readonly input?: S;
  /** Default: the name of the task. */
  readonly queue?: string;
  readonly retry?: RetryInput;
  /** The most tries, crashes included; default 3. */
  readonly maxAttempts?: number;
  /** How long one attempt may run. */
  readonly timeout?: Duration;
  /** How long a task may wait for its first start; then it fails. */
  readonly waitTimeout?: Duration;
  /** Where it may run: tags, workers, versions. */
  readonly placement?: PlacementInput;
  /**
   * The folder that its worker prepares before each run: words, or a function that makes them of the input. Workers that can make it are
   * found by their tags, which a push of the library asks for by itself.
   */
  readonly workspace?: WorkspaceWish<Parsed<S>>;
  /** What it takes of limits while it runs; a name alone takes one. */
  readonly limits?: readonly (string | LimitUseInput)[];
  /** Whether a kept result for the same input, or key, replaces a run, and up to which age; default no. */
  readonly reuse?: ReuseInput;
  /**
   * What a run of it may do to others while joined workers run its tasks. Whoever pushes the task grants this; a worker that spawns it
   * cannot. Default: spawn what the worker may run, in the same queue.
   */
  readonly permissions?: Permissions;
  /** `inline` (default): in the worker's own loop. `process`: in a child process, which can be killed. */
  readonly isolation?: 'inline' | 'process';
  /** Where a child process finds this task: `import.meta.url` of the module that exports it. */
  readonly module?: string;
  run(input: Parsed<S>, ctx: TaskContext): R | Promise<R>;
}

type Parsed<S> = S extends StandardSchema ? InferOutput<S> : unknown;
type Given<S> = S extends StandardSchema ? InferInput<S> : unknown;

/** A named piece of work: how to check its input, and how to do it. */
export interface TaskDefinition<Input = never, Result = unknown> extends PushableTask<Input, Result> {
  readonly isolation: 'inline' | 'process';
  readonly module: string | undefined;
  readonly run: (input: unknown, ctx: TaskContext) => unknown;
  /** Ours: a task of the same name in a handlers file goes before it. */
  readonly givesWay?: boolean | undefined;
  /** Ours: tags of each worker that has it. */
  readonly workerTags?: readonly string[] | undefined;
  /** Ours: tasks that each worker that has it has as well. */
  readonly brings?: readonly AnyTask[] | undefined;
  /** Ours: instead of `run`, for a handler that commits its own turns and says how the attempt ended. */
  readonly drive?: ((input: unknown, attempt: DrivenAttempt) => Promise<RunOutcome>) | undefined;
}

/** An attempt as a handler sees it that commits its own turns. */
export interface DrivenAttempt {
  readonly request: RunRequest;
  readonly session: AttemptSession;
  readonly signal: AbortSignal;
  readonly log: (message: string) => void;
  readonly progress: (value: unknown) => void;
  /** Undefined: it may read none. */
  readonly credentials?: CredentialReader | undefined;
  /** Undefined: it can store none. */
  readonly artifacts?: ArtifactReader | undefined;
  /** Undefined: it can have none. */
  readonly workspaces?: WorkspaceReader | undefined;
}

/** Any definition: `never` accepts every input type, as with parameters of functions. */
export type AnyTask = TaskDefinition<never, unknown>;
export type { Given };
