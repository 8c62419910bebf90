import type { Duration } from '../../core/duration.ts';
import type { LimitInput } from '../../core/limits/limit.ts';
import type { QueueStats, TaskEvent, WorkerEvent } from '../../core/task/event.ts';
import type { LogEntry } from '../../core/task/log.ts';
import type { TaskState } from '../../core/task/task.ts';
import type { SignalOptions } from '../../engine/settle/waits.ts';
import type { CancelAct, RetryAct, TreeOptions } from '../../engine/trees/trees.ts';
import type { TreeView } from '../../operate/calls/calls.ts';
import type { ApprovalView, ExplanationView, ScheduleView, SignalView, TaskView } from '../../operate/views.ts';
import type { CancelAnswer, QueueRecord } from '../../store/store.ts';
import type { AnyTask } from '../../worker/define/definition.ts';
import type { InputOf, ResultOf } from '../../worker/define/pushable-task.ts';
import type { Decision } from '../../worker/durable/durable-context.ts';
import type { Worker } from '../../worker/worker.ts';
import type { AnyWorkflow } from '../../worker/workflow/workflow.ts';
import type { AppArtifacts } from '../artifacts/library.ts';
import type { AppWorkerOptions } from '../worker.ts';
import type { AppPools } from './pools.ts';
import type { GraphTaskInput, PushArguments, PushOptions } from './pushing.ts';
import type { AppRuns, RunBudget } from './runs.ts';
import type { AppSchedules, ScheduleOptions } from './schedules.ts';
import type { AppWorkflows } from './stored-workflows.ts';
import type { AppTriggers } from './triggers.ts';

/** One event of a task, under its public id. */
export interface AppEvent extends Omit<TaskEvent, 'task' | 'createdAt'> {
  readonly id: string;
}

/** One event of a worker, under its name. */
export type AppWorkerEvent = Pick<WorkerEvent, 'seq' | 'at' | 'change' | 'name'>;

/** `reset`: events were removed by the retention. Read the state anew, and continue after `last`. */
export type AppFeedItem =
  | { readonly kind: 'event'; readonly event: AppEvent }
  | { readonly kind: 'worker'; readonly event: AppWorkerEvent }
  | { readonly kind: 'reset'; readonly last: number };

export interface FollowOptions {
  readonly signal?: AbortSignal;
}

/** What became of the tasks of a tree. */
export type AppTree<Act extends string> = TreeView<Act>;

/** A task that was pushed: what became of it, and how to stop it. */
export interface Handle<Result = unknown> {
  readonly id: string;
  /** False when a unique key or an operation id led to an existing task. */
  readonly fresh: boolean;
  /** Waits for its end. Rejects with `TASK_FAILED` when it failed or was cancelled, however many attempts it took. */
  result(options?: FollowOptions): Promise<Result>;
  state(): Promise<TaskState>;
  /** The last value that its handler gave to `ctx.progress`; undefined before the first. */
  progress(): Promise<unknown>;
  /** Its log, line by line, as it is written; ends with the task. */
  logs(options?: FollowOptions): AsyncIterable<LogEntry & { readonly attempt: number }>;
  /** Its events from now on, or after this position of the feed; ends with its end. */
  events(options?: FollowOptions & { readonly after?: number }): AsyncIterable<AppEvent>;
  /** Ends a waiting task; asks the worker of a running task to stop it. */
  cancel(): Promise<CancelAnswer>;
  /** Cancels it with everything that was made to wait for it, and with what any of these has spawned. */
  cancelTree(options?: TreeOptions): Promise<AppTree<CancelAct>>;
  /** Runs the failed and cancelled ones among the same tasks again. Completed ones keep their results. */
  retryTree(options?: TreeOptions): Promise<AppTree<RetryAct>>;
}

export interface RunOptions
  extends Pick<PushOptions, 'queue' | 'priority' | 'maxAttempts' | 'placement' | 'limits' | 'permissions'> {
  /** Started again under it, the run goes on or gives its result, on the version that it began with. */
  readonly executionId?: string | undefined;
  /** What people call it; default: the name of the workflow. */
  readonly title?: string | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** What the run and all that it starts may use; money is in dollars. */
  readonly budgets?: readonly RunBudget[] | undefined;
}

/** A workflow without input needs no input argument. */
export type RunArguments<W> =
  undefined extends InputOf<W> ? [input?: InputOf<W>, options?: RunOptions] : [input: InputOf<W>, options?: RunOptions];

/** A run of a workflow. */
export interface WorkflowHandle<Result = unknown> extends Handle<Result> {
  /** The execution id that it was started with. */
  readonly executionId: string | undefined;
  /** Sends a signal to this run, for `wf.signal(name)`. */
  signal(name: string, body?: unknown): Promise<void>;
}

/** The library, on a store or on a node: push tasks, run workers, follow results. */
export interface Leasehold extends AsyncDisposable {
  /** Checks the input against the schema of the task and stores it; resolves when it is durable. */
  push<T extends AnyTask>(task: T, ...args: PushArguments<T>): Promise<Handle<ResultOf<T>>>;
  /**
   * All inputs are checked before any is stored. Where a limit refuses some, the others stay stored: the error has their ids in
   * `details.pushed`, by the places of the inputs, with null for those that are not stored. `handle(id)` leads to each.
   */
  pushMany<T extends AnyTask>(
    task: T,
    inputs: readonly InputOf<T>[],
    options?: Omit<PushOptions, 'unique' | 'op'>,
  ): Promise<readonly Handle<ResultOf<T>>[]>;
  /**
   * Starts a run of a workflow. Under an execution id that is taken it goes on with that run, on the version that it began with, or gives its
   * result; another input under it is refused with `UNIQUE_CONFLICT`.
   */
  run<W extends AnyWorkflow>(workflow: W, ...args: RunArguments<W>): Promise<WorkflowHandle<ResultOf<W>>>;
  /** Tasks that wait for each other, all or nothing; cycles and unknown names are refused. Answers handles by name. */
  pushGraph(graph: readonly GraphTaskInput[]): Promise<Readonly<Record<string, Handle>>>;

  /** A handle for a task of which only the id is known. */
  handle(id: string): Handle;
  get(id: string): Promise<TaskView | undefined>;
  /** Why a task is in its state, by the rules that claims use now. */
  explain(id: string): Promise<ExplanationView>;
  cancel(id: string): Promise<CancelAnswer>;
  /** Runs a finished task again: tries start at 0, the attempt keeps growing. */
  retry(id: string): Promise<void>;
  cancelTree(id: string, options?: TreeOptions): Promise<AppTree<CancelAct>>;
  retryTree(id: string, options?: TreeOptions): Promise<AppTree<RetryAct>>;

  /** Wakes the task that has waited longest on the channel. If none waits, the signal is kept for the next one. */
  signal(channel: string, body?: unknown, options?: SignalOptions): Promise<SignalView>;
  /** Tasks that wait for somebody's decision, oldest first. */
  approvals(options?: { readonly limit?: number }): Promise<readonly ApprovalView[]>;
  /** Decides for a task that waits for a decision. The first decision counts; a second one is refused with `CONFLICT`. */
  decide(id: string, decision: Decision & { readonly key?: string }): Promise<void>;

  /** Runs of machines: start, look, cancel, retry, fork. */
  readonly runs: AppRuns;

  /**
   * Pushes a task by a clock: makes the schedule, or replaces the one of its name. A program may call it at each start, since a schedule
   * whose times and zone stay the same keeps its place.
   */
  schedule<T extends AnyTask>(name: string, options: ScheduleOptions<T>): Promise<ScheduleView>;
  /** Schedules: look, pause, resume, run, remove. */
  readonly schedules: AppSchedules;
  /** Workflows of nodes and connections that the store keeps, with their versions. */
  readonly workflows: AppWorkflows;
  /** Pools of workers: how many there should be, and how they are started. */
  readonly pools: AppPools;
  /** Triggers: what starts work when something happens. */
  readonly triggers: AppTriggers;
  /** Files that tasks have left behind. */
  readonly artifacts: AppArtifacts;

  stats(queue: string): Promise<QueueStats>;
  queues(): Promise<readonly QueueRecord[]>;
  /** The events after this position of the feed: no gap, no repeat. */
  events(options?: { readonly after?: number; readonly signal?: AbortSignal }): AsyncIterable<AppFeedItem>;
  /** Makes a limit or changes it, for the whole cluster at once; answers its revision. */
  setLimit(name: string, limit: LimitInput, by?: string): Promise<number>;
  removeLimit(name: string, by?: string): Promise<void>;

  /** A worker in this process. It runs after `start()`, and `close()` drains it. */
  worker(options: AppWorkerOptions): Worker;
  /** Stops all workers of this app; each can also be stopped by itself. */
  stopWorkers(options?: Parameters<Worker['stop']>[0]): Promise<void>;
  close(options?: { readonly drainMs?: Duration }): Promise<void>;
}
