import { fault, isEngineError } from '../core/errors.ts';
import { type IdCodec, makeIdCodec } from '../core/ids.ts';
import type { Silence } from '../core/node.ts';
import type { FinalState, TaskState } from '../core/task.ts';
import type { Engine } from '../engine/engine.ts';
import type { Explanation } from '../engine/explain.ts';
import type { PushRequest } from '../engine/push.ts';
import type { Pushed } from '../engine/pushes.ts';
import type { CancelAnswer, Lane, LogLine, LogPlace, TaskQuery, TaskRecord, WorkerRecord } from '../engine/records.ts';
import type { CancelAct, RetryAct, TreeAnswer, TreeMember, TreeOptions } from '../engine/subtrees.ts';
import { ClusterDesk } from './cluster.ts';
import { follow, newestEvent } from './follow.ts';
import { LimitDesk } from './limits.ts';
import { QueueDesk, type Sweep } from './queues.ts';
import {
  type Naming,
  type PurgedView,
  type QueueView,
  type RetriedView,
  type TaskDetailView,
  type TaskView,
  viewAttempts,
  viewTask,
  viewWorker,
  type WorkerDetailView,
  type WorkerView,
} from './views.ts';
import { WaitDesk } from './waits.ts';
import { noWorker, WorkerDesk } from './workers.ts';

export interface TaskFilter {
  /** None names all. */
  readonly queues: readonly string[];
  readonly states: readonly TaskState[];
  readonly limit: number;
  /** Only those that are older than this one. */
  readonly before?: number | undefined;
  /** One of these; none, or none given, names all. */
  readonly handlers?: readonly string[] | undefined;
  /** Created then or later, and before `until`: calendar time. */
  readonly from?: number | undefined;
  readonly until?: number | undefined;
}

/** `again`: it is ready again. A state: it has not ended, and nothing was changed. */
export type RetryAnswer = 'again' | 'unknown' | TaskState;

export type { CancelAct, RetryAct } from '../engine/subtrees.ts';

/** Something that happened to a task that is followed, under public names. */
export type Told =
  | {
      readonly kind: 'state';
      readonly id: string;
      readonly state: TaskState;
      readonly attempt: number;
      readonly at: number;
    }
  | { readonly kind: 'log'; readonly id: string; readonly line: LogLine }
  | { readonly kind: 'ended'; readonly id: string; readonly task: TaskView | undefined };

/** Rows of one read, and changes of one write: more would hold up whoever else works on the store. */
const PAGE = 500;
const BATCH = 250;
/** Each has a reader of its own; above this only states are followed. */
const MOST_LOGS = 20;

function noLimit(name: string, cause: unknown): Error {
  const hint = `"leasehold limits set ${name}" makes it; "leasehold limits list" shows those that are there.`;
  return fault('NOT_FOUND', { kind: 'limit', id: name }, { hint, cause });
}

/** A store as commands see it: public ids and names, tasks by the batch. */
export class Operator {
  readonly limits: LimitDesk;
  readonly fleet: WorkerDesk;
  readonly waits: WaitDesk;
  readonly cluster: ClusterDesk;
  readonly #engine: Engine;
  readonly #sweeps: QueueDesk;
  readonly #ids: IdCodec;
  #ahead: Promise<number> | undefined;
  #workers: Promise<readonly WorkerRecord[]> | undefined;

  constructor(engine: Engine, silence?: Silence) {
    this.#engine = engine;
    this.#sweeps = new QueueDesk(engine);
    this.limits = new LimitDesk(engine);
    this.fleet = new WorkerDesk(engine);
    this.waits = new WaitDesk(engine);
    this.cluster = new ClusterDesk(engine, silence);
    this.#ids = makeIdCodec(engine.store.clusterKey);
  }

  // Tasks

  async push(requests: readonly PushRequest[]): Promise<readonly Pushed[]> {
    try {
      return await this.#engine.pushMany(requests);
    } catch (error) {
      if (!isEngineError(error, 'NOT_FOUND') || error.details?.kind !== 'limit') throw error;
      throw noLimit(String(error.details.id), error);
    }
  }

  /** The number of a task from its public id, or from the number itself. */
  numberOf(id: string): number {
    return /^[1-9]\d{0,14}$/.test(id) ? Number(id) : this.#engine.parseId(id);
  }

  /** Newest first. */
  async list({ queues, limit, before, ...filter }: TaskFilter): Promise<readonly TaskView[]> {
    const filters = queues.length === 0 ? [undefined] : [...new Set(queues)];
    const found: TaskRecord[] = [];
    for (const queue of filters) {
      for await (const page of this.#pages({ queue, ...filter }, limit, before)) found.push(...page);
    }
    const newest = found.toSorted((a, b) => b.task - a.task).slice(0, limit);
    const naming = await this.#naming(newest);
    return newest.map((record) => viewTask(record, naming));
  }

  /** Numbers of the tasks of a queue in these states, newest first, a page at a time. */
  async *find(queue: string, states: readonly TaskState[]): AsyncGenerator<readonly number[]> {
    for await (const page of this.#pages({ queue, states }, Number.POSITIVE_INFINITY)) {
      yield page.map(({ task }) => task);
    }
  }

  /** By number; those that are gone are left out. */
  async shown(tasks: readonly number[]): Promise<readonly TaskView[]> {
    const views: TaskView[] = [];
    for (const batch of batches(tasks)) {
      const records = (await this.#engine.store.taskGet({ tasks: batch })).filter((record) => record !== undefined);
      const naming = await this.#naming(records);
      views.push(...records.map((record) => viewTask(record, naming)));
    }
    return views;
  }

  async task(id: string): Promise<TaskView> {
    const record = await this.#record(id);
    return viewTask(record, await this.#naming([record]));
  }

  async detail(id: string): Promise<TaskDetailView> {
    const record = await this.#record(id);
    const naming = await this.#naming([record], true);
    const queues = await this.#engine.queues();
    const workers = (await this.#workers) ?? [];
    const progress = await this.#lastProgress(record);
    const waits = record.state === 'ready' || record.state === 'scheduled' || record.state === 'waiting';
    const why = waits ? await this.#engine.explain(record.task) : undefined;
    const wait = record.state === 'waiting' ? await this.waits.waitOf(record.task) : undefined;
    return {
      ...viewTask(record, naming),
      attempts: viewAttempts(record, await this.#engine.attempts(record.task), naming),
      ...(progress === undefined ? {} : { progress }),
      queuePaused: queues.some(({ name, paused }) => paused && name === record.queue),
      workersForIt: workers.filter((worker) => isLive(worker) && offers(worker, record.handler)).length,
      ...(why === undefined ? {} : { summary: why.summary, runnable: why.runnable }),
      ...(wait === undefined ? {} : { wait }),
    };
  }

  /** Why a task is where it is. */
  explain(id: string): Promise<Explanation> {
    return this.#engine.explain(this.numberOf(id));
  }

  /** Ends what does not run, asks the worker of what does; one answer for each, in order. */
  async cancel(tasks: readonly number[]): Promise<readonly CancelAnswer[]> {
    const answers: CancelAnswer[] = [];
    for (const batch of batches(tasks)) answers.push(...(await this.#engine.store.taskCancel({ tasks: batch })));
    return answers;
  }

  /**
   * Ends those that wait still, and leaves the others alone. One that a worker claims at this very moment is asked to stop
   * (`requested`): the port has no cancel that spares what runs.
   */
  async cancelWaiting(tasks: readonly number[]): Promise<readonly CancelAnswer[]> {
    const answers: CancelAnswer[] = [];
    for (const batch of batches(tasks)) {
      const records = await this.#engine.store.taskGet({ tasks: batch });
      const waiting = records.filter((record) => record?.state === 'ready' || record?.state === 'scheduled');
      answers.push(...(await this.cancel(waiting.map((record) => (record as TaskRecord).task))));
    }
    return answers;
  }

  /** Runs finished tasks again; whatever else they are in is the answer. */
  async retry(tasks: readonly number[]): Promise<readonly RetryAnswer[]> {
    const answers: RetryAnswer[] = [];
    for (const batch of batches(tasks)) {
      const revived = await this.#engine.store.taskRevive({ tasks: batch });
      answers.push(...revived.map((answer) => (answer.ok ? 'again' : (answer.state ?? 'unknown'))));
    }
    return answers;
  }

  /** Ends a task, all that was made to wait for it, and what any of these has spawned. */
  cancelTree(task: number, options: TreeOptions): Promise<TreeAnswer<CancelAct>> {
    return this.#engine.cancelTree(task, options);
  }

  /** Of the same tasks, runs those again that failed or were cancelled. */
  retryTree(task: number, options: TreeOptions): Promise<TreeAnswer<RetryAct>> {
    return this.#engine.retryTree(task, options);
  }

  /** The same tasks, from above, and what hangs on what among them. */
  tree(task: number): Promise<readonly TreeMember[]> {
    return this.#engine.tree(task);
  }

  /** The log as it is now, from an attempt on. */
  async *log(task: number, from = 1): AsyncGenerator<LogLine> {
    for (let last: LogPlace | undefined = { attempt: from - 1, seq: Number.MAX_SAFE_INTEGER }; ; ) {
      const page: readonly LogLine[] = await this.#engine.readLog(task, { limit: PAGE, after: last });
      yield* page;
      last = page.at(-1);
      if (last === undefined || page.length < PAGE) return;
    }
  }

  /** A position to follow from, taken before the push of what is to be followed. */
  now(): Promise<number> {
    return newestEvent(this.#engine);
  }

  /** Logs, states and ends of these tasks as they come, until all have ended. Above twenty tasks without logs. */
  async *follow(
    tasks: readonly number[],
    options: { readonly after: number; readonly signal: AbortSignal },
  ): AsyncGenerator<Told> {
    const { store } = this.#engine;
    const unwatch = store.watch({ wanted: () => this.#engine.waiting, onChange: () => this.#engine.hint() });
    const ids = new Map<number, string>();
    for (const page of batches(tasks)) {
      for (const record of await store.taskGet({ tasks: page })) {
        if (record !== undefined) ids.set(record.task, this.#engine.idOf(record));
      }
    }
    try {
      for await (const told of follow(this.#engine, tasks, { ...options, logs: tasks.length <= MOST_LOGS })) {
        const id = ids.get(told.task) ?? String(told.task);
        if (told.kind === 'state') yield { kind: 'state', id, state: told.state, attempt: told.attempt, at: told.at };
        else if (told.kind === 'log') yield { kind: 'log', id, line: told.line };
        else yield { kind: 'ended', id, task: told.record && viewTask(told.record, await this.#naming([told.record])) };
      }
    } finally {
      unwatch();
    }
  }

  // Queues

  async queues(): Promise<readonly QueueView[]> {
    return (await this.#engine.queues()).map(({ name, paused, stats }) => ({ name, paused, ...stats }));
  }

  /** Refuses a queue that nobody ever pushed to: a typing error should not pass for an empty one. */
  async queue(name: string): Promise<QueueView> {
    const found = (await this.queues()).find((queue) => queue.name === name);
    if (found !== undefined) return found;
    throw fault(
      'NOT_FOUND',
      { kind: 'queue', id: name },
      { hint: '"leasehold queues list" shows the queues; the first push or pause makes one.' },
    );
  }

  async pause(name: string): Promise<void> {
    await this.#engine.pause(name);
  }

  async resume(name: string): Promise<void> {
    await this.queue(name);
    await this.#engine.resume(name);
  }

  /** Cancels what waits in it; refused when that is more than was expected. */
  async purge(name: string, sweep: Sweep): Promise<PurgedView> {
    return this.#sweeps.purge(await this.queue(name), sweep);
  }

  /** Runs again what ended so in it. */
  async retryAll(name: string, states: readonly FinalState[], sweep: Sweep): Promise<RetriedView> {
    return this.#sweeps.retry(await this.queue(name), states, sweep);
  }

  // Workers

  /** All that is known of a worker's name; refused when that is nothing. */
  async worker(name: string): Promise<WorkerDetailView> {
    const said = await this.fleet.said(name);
    const processes = (await this.workers()).filter((worker) => worker.name === name);
    if (processes.length === 0 && !said.known) throw noWorker(name);
    return { ...said.setting, carries: said.carries, processes: processes.toReversed() };
  }

  async workers(): Promise<readonly WorkerView[]> {
    const records = await this.#engine.workers();
    const held = Map.groupBy(await this.#engine.store.leaseList({}), ({ holder }) => holder);
    const calendarOf = await this.#calendar();
    return records.map((record) =>
      viewWorker(record, {
        id: this.#ids.encode('wrk_', record.worker, record.startedAt ?? 0),
        tasks: (held.get(record.worker) ?? []).map((task) => this.#engine.idOf(task)),
        calendarOf,
      }),
    );
  }

  async close(): Promise<void> {
    await this.#engine.store.close();
    // Who still waits for events looks again, and hears at once that the store is closed.
    this.#engine.hint();
  }

  async #record(id: string): Promise<TaskRecord> {
    const record = await this.#engine.get(this.numberOf(id));
    if (record === undefined) throw fault('NOT_FOUND', { kind: 'task', id });
    return record;
  }

  async *#pages(
    {
      queue,
      states,
      handlers = [],
      from: since,
      until,
    }: Omit<TaskFilter, 'queues' | 'limit' | 'before'> & {
      readonly queue: string | undefined;
    },
    limit: number,
    from?: number,
  ): AsyncGenerator<readonly TaskRecord[]> {
    let left = limit;
    for (let before = from; left > 0; ) {
      const query: TaskQuery = {
        limit: Math.min(PAGE, left),
        ...(queue === undefined ? {} : { queue }),
        ...(states.length === 0 ? {} : { states }),
        ...(handlers.length === 0 ? {} : { handlers }),
        ...(since === undefined ? {} : { from: since }),
        ...(until === undefined ? {} : { until }),
        ...(before === undefined ? {} : { before }),
      };
      const page = await this.#engine.list(query);
      if (page.length > 0) yield page;
      if (page.length < query.limit) return;
      left -= page.length;
      before = page.at(-1)?.task;
    }
  }

  /** Names of workers are read only where one is shown: a list of what waits needs none. */
  async #naming(records: readonly TaskRecord[], always = false): Promise<Naming> {
    if (always || records.some(({ holder }) => holder !== undefined)) this.#workers ??= this.#engine.workers();
    const names = new Map((await this.#workers)?.map(({ worker, name }) => [worker, name]));
    const lanes = await this.#lanes(records);
    return {
      idOf: (task) => this.#engine.idOf(task),
      workerName: (worker) => names.get(worker) ?? `worker ${worker}`,
      calendarOf: await this.#calendar(),
      rulesOf: (lane) => lanes.get(lane)?.rules,
    };
  }

  async #lanes(records: readonly TaskRecord[]): Promise<ReadonlyMap<number, Lane>> {
    const lanes = new Map<number, Lane>();
    for (const batch of batches([...new Set(records.map(({ lane }) => lane))])) {
      for (const lane of await this.#engine.store.laneGet({ lanes: batch }))
        if (lane !== undefined) lanes.set(lane.id, lane);
    }
    return lanes;
  }

  /** Expiries and beats are told in lease time, which nobody can set; people read calendars. */
  async #calendar(): Promise<(leaseTime: number) => number> {
    this.#ahead ??= this.#engine.store.clock().then(({ calendar, lease }) => calendar - lease);
    const ahead = await this.#ahead;
    return (leaseTime) => Math.round(leaseTime + ahead);
  }

  async #lastProgress({ task, attempt }: TaskRecord): Promise<unknown> {
    let text: string | undefined;
    if (attempt === 0) return undefined;
    for await (const line of this.log(task, attempt)) if (line.stream === 'progress') text = line.text;
    if (text === undefined) return undefined;
    try {
      return JSON.parse(text) as unknown;
    } catch {
      return text;
    }
  }
}

/** One that names no handlers may have any. */
function offers({ handlers }: WorkerRecord, handler: string): boolean {
  return handlers.length === 0 || handlers.includes(handler);
}

function isLive({ state, enabled }: WorkerRecord): boolean {
  return enabled && (state === 'online' || state === 'starting');
}

function* batches<T>(items: readonly T[]): Generator<readonly T[]> {
  for (let from = 0; from < items.length; from += BATCH) yield items.slice(from, from + BATCH);
}
