import type { NodeOverride, Silence } from '../core/node.ts';
import type { FinalState, TaskState } from '../core/task.ts';
import type { Explanation } from '../engine/explain.ts';
import type { PushRequest } from '../engine/push.ts';
import type { CancelAct, RetryAct, TreeOptions } from '../engine/subtrees.ts';
import type { LimitAnswer, LimitEdit } from '../operate/limits.ts';
import type { Sweep } from '../operate/queues.ts';
import type { Operator, RetryAnswer, TaskFilter, Told } from '../operate/sight.ts';
import type {
  ApprovalView,
  ClusterView,
  DecisionView,
  LimitDetailView,
  LimitView,
  NodeView,
  PurgedView,
  QueueView,
  RetriedView,
  SignalView,
  TagView,
  TaskDetailView,
  TaskView,
  WorkerSettingView,
  WorkerView,
} from '../operate/views.ts';
import type { Enrolled, NewWorker, TagAnswer, WorkerEdit } from '../operate/workers.ts';
import type { CancelAnswer, LogLine } from '../store/store.ts';
import type { Decision } from '../worker/memory/remembering.ts';
import type { AppTree } from './leasehold.ts';

/** A task that was pushed, as commands tell of it. */
export interface PushedView {
  readonly id: string;
  readonly state: TaskState;
  readonly createdAt: number;
  /** False when its unique key led to a task that was there before. */
  readonly fresh: boolean;
}

/** Some of many tasks; the cursor is what the call before has said. */
export interface SweepPart extends Omit<Sweep, 'before'> {
  readonly cursor?: string | undefined;
}

/** The nodes on a store. */
export interface OperatingCluster {
  /** `silence`: when one counts as stale and as dead; a node that is asked goes by its own. */
  look(silence?: Silence): Promise<ClusterView>;
  setRole(id: string, role: NodeOverride): Promise<NodeView>;
}

/**
 * What commands ask, of a store or of a node that has one: tasks by their public ids, or by their numbers as texts. Everything that is
 * given is looked at before anything is changed.
 */
export interface Operating {
  readonly cluster: OperatingCluster;
  push(requests: readonly PushRequest[]): Promise<readonly PushedView[]>;
  /** Newest first. */
  list(filter: Omit<TaskFilter, 'before'>): Promise<readonly TaskView[]>;
  /** Ids of the tasks of a queue in these states, newest first, a page at a time. */
  find(queue: string, states: readonly TaskState[]): AsyncGenerator<readonly string[]>;
  task(id: string): Promise<TaskView>;
  detail(id: string): Promise<TaskDetailView>;
  explain(id: string): Promise<Explanation>;
  /** The log as it is now. */
  log(id: string): AsyncGenerator<LogLine>;
  /** A position to follow from, taken before the push of what is to be followed. */
  now(): Promise<number>;
  /** Logs, states and ends of these tasks as they come, until all have ended. Above twenty tasks without logs. */
  follow(
    ids: readonly string[],
    options: { readonly after: number; readonly signal: AbortSignal },
  ): AsyncGenerator<Told>;
  /** Ends what does not run, asks the worker of what does; one answer for each, in order. */
  cancel(ids: readonly string[]): Promise<readonly CancelAnswer[]>;
  /** Runs finished tasks again; whatever else they are in is the answer. */
  retry(ids: readonly string[]): Promise<readonly RetryAnswer[]>;
  cancelTree(id: string, options: TreeOptions): Promise<AppTree<CancelAct>>;
  retryTree(id: string, options: TreeOptions): Promise<AppTree<RetryAct>>;

  queues(): Promise<readonly QueueView[]>;
  /** Refuses a queue that nobody ever pushed to: a typing error should not pass for an empty one. */
  queue(name: string): Promise<QueueView>;
  pause(name: string): Promise<QueueView>;
  resume(name: string): Promise<QueueView>;
  /** Cancels what waits in it, some at a time. */
  purge(name: string, part: SweepPart): Promise<PurgedView>;
  /** Runs again what ended so in it, some at a time. */
  retryAll(name: string, states: readonly FinalState[], part: SweepPart): Promise<RetriedView>;

  workers(): Promise<readonly WorkerView[]>;
  readonly fleet: OperatingFleet;
  readonly limits: OperatingLimits;
  readonly waits: OperatingWaits;
  close(): Promise<void>;
}

/** What is said of workers by their names, and the tags that they carry. */
export interface OperatingFleet {
  strays(): Promise<readonly WorkerSettingView[]>;
  look(names: readonly string[]): Promise<readonly WorkerSettingView[]>;
  set(names: readonly string[], edit: WorkerEdit): Promise<readonly WorkerSettingView[]>;
  create(name: string, worker: NewWorker, by: string): Promise<Enrolled>;
  rotate(name: string, graceMs: number, by: string): Promise<{ readonly name: string; readonly secret: string }>;
  remove(name: string): Promise<number>;
  tag(
    name: string,
    change: { readonly add: readonly string[]; readonly remove: readonly string[] },
  ): Promise<TagAnswer>;
  tags(): Promise<readonly TagView[]>;
}

export interface OperatingLimits {
  list(): Promise<readonly LimitView[]>;
  detail(name: string): Promise<LimitDetailView>;
  set(name: string, edit: LimitEdit, by: string): Promise<LimitAnswer>;
  remove(name: string, by: string): Promise<LimitView>;
  /** For 0 ms it is open again. */
  pause(name: string, key: string | undefined, forMs: number): Promise<LimitDetailView>;
}

export interface OperatingWaits {
  signal(channel: string, body: unknown, options: { readonly broadcast: boolean }): Promise<SignalView>;
  approvals(limit: number): Promise<readonly ApprovalView[]>;
  decide(id: string, decision: Decision): Promise<DecisionView>;
}

/** A store that this process has open, as commands see it. */
export class DirectOperator implements Operating {
  readonly cluster: OperatingCluster;
  readonly fleet: OperatingFleet;
  readonly limits: OperatingLimits;
  readonly waits: OperatingWaits;
  readonly #own: Operator;

  constructor(own: Operator) {
    this.#own = own;
    this.cluster = own.cluster;
    this.fleet = own.fleet;
    this.limits = own.limits;
    this.waits = {
      signal: (channel, body, options) => own.waits.signal(channel, body, options),
      approvals: (limit) => own.waits.approvals(limit),
      decide: async (id, decision) => own.waits.decide(own.numberOf(id), decision),
    };
  }

  push(requests: readonly PushRequest[]): Promise<readonly PushedView[]> {
    return this.#own.push(requests);
  }

  list(filter: Omit<TaskFilter, 'before'>): Promise<readonly TaskView[]> {
    return this.#own.list(filter);
  }

  async *find(queue: string, states: readonly TaskState[]): AsyncGenerator<readonly string[]> {
    for await (const page of this.#own.find(queue, states)) yield page.map(String);
  }

  task(id: string): Promise<TaskView> {
    return this.#own.task(id);
  }

  detail(id: string): Promise<TaskDetailView> {
    return this.#own.detail(id);
  }

  explain(id: string): Promise<Explanation> {
    return this.#own.explain(id);
  }

  log(id: string): AsyncGenerator<LogLine> {
    return this.#own.log(this.#own.numberOf(id));
  }

  now(): Promise<number> {
    return this.#own.now();
  }

  follow(
    ids: readonly string[],
    options: { readonly after: number; readonly signal: AbortSignal },
  ): AsyncGenerator<Told> {
    return this.#own.follow(this.#numbers(ids), options);
  }

  async cancel(ids: readonly string[]): Promise<readonly CancelAnswer[]> {
    return this.#own.cancel(this.#numbers(ids));
  }

  async retry(ids: readonly string[]): Promise<readonly RetryAnswer[]> {
    return this.#own.retry(this.#numbers(ids));
  }

  async cancelTree(id: string, options: TreeOptions): Promise<AppTree<CancelAct>> {
    return this.#own.cancelTree(this.#own.numberOf(id), options);
  }

  async retryTree(id: string, options: TreeOptions): Promise<AppTree<RetryAct>> {
    return this.#own.retryTree(this.#own.numberOf(id), options);
  }

  queues(): Promise<readonly QueueView[]> {
    return this.#own.queues();
  }

  queue(name: string): Promise<QueueView> {
    return this.#own.queue(name);
  }

  async pause(name: string): Promise<QueueView> {
    await this.#own.pause(name);
    return this.#own.queue(name);
  }

  async resume(name: string): Promise<QueueView> {
    await this.#own.resume(name);
    return this.#own.queue(name);
  }

  async purge(name: string, part: SweepPart): Promise<PurgedView> {
    return this.#own.purge(name, this.#sweep(part));
  }

  async retryAll(name: string, states: readonly FinalState[], part: SweepPart): Promise<RetriedView> {
    return this.#own.retryAll(name, states, this.#sweep(part));
  }

  workers(): Promise<readonly WorkerView[]> {
    return this.#own.workers();
  }

  close(): Promise<void> {
    return this.#own.close();
  }

  #numbers(ids: readonly string[]): readonly number[] {
    return ids.map((id) => this.#own.numberOf(id));
  }

  #sweep({ cursor, ...part }: SweepPart): Sweep {
    return { ...part, before: cursor === undefined ? undefined : this.#own.numberOf(cursor) };
  }
}
