import { randomUUID } from 'node:crypto';
import { extname } from 'node:path';
import { defaultWorkerName } from '../config/worker-name.ts';
import { type Duration, parseDuration } from '../core/duration.ts';
import type { QueueStats } from '../core/event.ts';
import type { AfterFailure } from '../core/graph.ts';
import type { FairnessInput } from '../core/lane.ts';
import type { LimitInput, LimitUseInput } from '../core/limit.ts';
import type { PlacementInput } from '../core/placement.ts';
import type { ReuseInput } from '../core/reuse.ts';
import type { Clock } from '../core/world.ts';
import { checkList, checkOptions } from '../engine/check.ts';
import type { Explanation } from '../engine/explain.ts';
import type { FeedItem } from '../engine/feed.ts';
import type { GraphRequest } from '../engine/graphs.ts';
import type { PushRequest } from '../engine/push.ts';
import type { CancelAct, RetryAct, TreeAnswer, TreeOptions } from '../engine/subtrees.ts';
import type { SignalOptions } from '../engine/waits.ts';
import type { RenewalAddress } from '../protocol/link.ts';
import type {
  CallerTransaction,
  LimitRecord,
  QueueRecord,
  SignalAnswer,
  TaskRecord,
  WorkerRecord,
  WorkerSetting,
} from '../store/store.ts';
import type { AnyTask, InputOf, ResultOf } from '../worker/definition.ts';
import type { Decision } from '../worker/memory/remembering.ts';
import { parseInput } from '../worker/schema.ts';
import type { Worker } from '../worker/worker.ts';
import { type Approval, approvals, decide } from './approvals.ts';
import { DirectLink } from './direct-link.ts';
import type { DirectRenewalData } from './direct-renewals.ts';
import { TaskHandle } from './handle.ts';
import { type Node, type NodeOptions, openNode } from './node.ts';
import { type Recovered, recoverStale } from './recover.ts';
import { type AppWorkerOptions, makeWorker } from './worker.ts';
import { realWorld } from './world.ts';

export interface OpenOptions extends NodeOptions {
  /** Another clock than the machine's own, for tests; leases are then renewed from the loop. */
  readonly clock?: Clock;
}

/** What a caller may say about one push of a defined task. */
export interface PushOptions {
  /** Whole number, higher first; default 0. */
  readonly priority?: number;
  /** Due this much later. */
  readonly delay?: Duration;
  /** Due at this calendar time, in milliseconds. */
  readonly runAt?: number;
  /** The same key and input lead to the same task, the same key and another input are refused. */
  readonly unique?: NonNullable<PushRequest['unique']>;
  /** Another queue than that of the definition. */
  readonly queue?: string;
  readonly maxAttempts?: number;
  /** Operation id: repeating the call with it gives the first answer. */
  readonly op?: string;
  /** Where it may run, instead of what the definition says. */
  readonly placement?: PlacementInput;
  /** What it takes of which limits while it runs, instead of what the definition says; a name alone takes one. */
  readonly limits?: readonly (string | LimitUseInput)[];
  /** Whose turn it uses: keys share what there is, however many tasks each of them has. */
  readonly fairness?: FairnessInput;
  /** Whether a result of the same input, or key, takes the place of a run, instead of what the definition says. */
  readonly reuse?: ReuseInput;
  /** The caller's own transaction: the task exists when, and only when, it commits. */
  readonly tx?: CallerTransaction;
}

/** A task of a graph, and what it waits for. */
export interface GraphTaskInput extends Omit<PushOptions, 'tx'> {
  /** What others of the graph know it by; default the name of the task. */
  readonly name?: string;
  readonly task: AnyTask;
  /** Checked against the schema of the task. */
  readonly input?: unknown;
  /** What must have ended before: names of the graph, or handles and ids of tasks that exist. */
  readonly after?: readonly (Upstream | { readonly on: Upstream; readonly optional?: boolean })[];
  /** What becomes of it when something that it needs has failed or was cancelled; default `cancel`. */
  readonly afterFailure?: AfterFailure;
}

type Upstream = string | Pick<TaskHandle, 'task'>;

/** A task that takes nothing needs no input. */
export type PushArguments<T> =
  undefined extends InputOf<T>
    ? [input?: InputOf<T>, options?: PushOptions]
    : [input: InputOf<T>, options?: PushOptions];

const PUSH: ReadonlySet<string> = new Set([
  'priority',
  'delay',
  'runAt',
  'unique',
  'queue',
  'maxAttempts',
  'op',
  'placement',
  'limits',
  'fairness',
  'reuse',
  'tx',
] satisfies (keyof PushOptions)[]);
const GRAPH: ReadonlySet<string> = new Set([
  ...[...PUSH].filter((option) => option !== 'tx'),
  ...(['name', 'task', 'input', 'after', 'afterFailure'] satisfies (keyof GraphTaskInput)[]),
]);
/** Each names one task. */
const PUSH_MANY: ReadonlySet<string> = new Set([...PUSH].filter((option) => option !== 'unique' && option !== 'op'));

const HOLD_MS = 60_000;

/** Opens a store and everything that works on it: `sqlite:./work.db`, `postgres://…`, or `memory:`. */
export async function open(url: string, options: OpenOptions = {}): Promise<App> {
  // A name of its own, so that the renewal thread can open the same memory.
  const named = url === 'memory:' ? `memory:${randomUUID()}` : url;
  const { clock, ...rest } = options;
  const nodeOptions = clock === undefined ? rest : { ...rest, world: { ...(rest.world ?? realWorld()), clock } };
  return new App(await openNode(named, nodeOptions), renewalOf(named, nodeOptions));
}

/** The library: push work, run workers, see what becomes of it. */
export class App {
  readonly #node: Node;
  readonly #renewal: RenewalAddress | undefined;
  readonly #workers = new Set<Worker>();

  constructor(node: Node, renewal: RenewalAddress | undefined) {
    this.#node = node;
    this.#renewal = renewal;
  }

  /** The engine beneath, for what the library does not offer. */
  get engine(): Node['engine'] {
    return this.#node.engine;
  }

  /** Checks the input against the schema of the task and stores it; resolves when it is durable. */
  async push<T extends AnyTask>(task: T, ...args: PushArguments<T>): Promise<TaskHandle<ResultOf<T>>> {
    const [input, options = {}] = args;
    checkOptions('push options', options, PUSH);
    await parseInput(task.schema, input, task.name);
    const request = requestOf(task, input, options);
    const pushed =
      options.tx === undefined
        ? await this.engine.push(request)
        : ((await this.engine.pushIn(options.tx, [request]))[0] as Awaited<ReturnType<Node['engine']['push']>>);
    return new TaskHandle<ResultOf<T>>(this.engine, pushed);
  }

  /** All inputs are checked before any is stored. */
  async pushMany<T extends AnyTask>(
    task: T,
    inputs: readonly InputOf<T>[],
    options: Omit<PushOptions, 'unique' | 'op'> = {},
  ): Promise<readonly TaskHandle<ResultOf<T>>[]> {
    checkOptions('options of pushMany', options, PUSH_MANY);
    checkList('inputs', inputs);
    if (task.schema !== undefined) for (const input of inputs) await parseInput(task.schema, input, task.name);
    const requests = inputs.map((input) => requestOf(task, input, options));
    const pushed = await (options.tx === undefined
      ? this.engine.pushMany(requests)
      : this.engine.pushIn(options.tx, requests));
    return pushed.map((one) => new TaskHandle<ResultOf<T>>(this.engine, one));
  }

  /** Tasks that wait for each other, all or nothing; circles and unknown names are refused. Answers handles by name. */
  async pushGraph(graph: readonly GraphTaskInput[]): Promise<Readonly<Record<string, TaskHandle>>> {
    checkList('graph', graph);
    const names = new Set(graph.map((one) => one?.name ?? one?.task?.name));
    const requests: GraphRequest[] = [];
    for (const one of graph) {
      checkOptions('options of a task in a graph', one, GRAPH);
      const { name = one.task.name, task, input, after, afterFailure, ...options } = one;
      await parseInput(task.schema, input, task.name);
      requests.push({
        ...requestOf(task, input, options),
        name,
        ...(after === undefined ? {} : { after: after.map((up) => this.#upstream(up, names)) }),
        ...(afterFailure === undefined ? {} : { afterFailure }),
      });
    }
    const pushed = await this.engine.pushGraph(requests);
    return Object.fromEntries(pushed.map((one, i) => [requests[i]?.name, new TaskHandle(this.engine, one)]));
  }

  #upstream(
    given: NonNullable<GraphTaskInput['after']>[number],
    names: ReadonlySet<string>,
  ): NonNullable<GraphRequest['after']>[number] {
    if (typeof given === 'string')
      return names.has(given) || !given.startsWith('task_') ? given : this.engine.parseId(given);
    if (!('on' in given)) return given.task;
    const on = this.#upstream(given.on, names) as string | number;
    return given.optional === undefined ? { on } : { on, optional: given.optional };
  }

  /** Wakes the task that has waited longest on the channel, or is kept until one comes. */
  signal(channel: string, body?: unknown, options: SignalOptions = {}): Promise<SignalAnswer> {
    return this.engine.signal(channel, body, options);
  }

  /** Tasks that wait for somebody to decide, oldest first. */
  approvals({ limit = 100 }: { readonly limit?: number } = {}): Promise<readonly Approval[]> {
    return approvals(this.engine, limit);
  }

  /** Decides for a task that waits for it; the first decision counts, and a second one is refused with `CONFLICT`. */
  decide(id: string, decision: Decision): Promise<void> {
    return decide(this.engine, id, decision);
  }

  /** Why a task is where it is: judged by what claims go by, now. */
  async explain(id: string): Promise<Explanation> {
    return this.engine.explain(this.engine.parseId(id));
  }

  /** Makes a limit or changes it, for everybody at once; answers its revision. */
  setLimit(name: string, limit: LimitInput, by?: string): Promise<number> {
    return this.engine.setLimit(name, limit, by);
  }

  removeLimit(name: string, by?: string): Promise<void> {
    return this.engine.removeLimit(name, by);
  }

  limits(): Promise<readonly LimitRecord[]> {
    return this.engine.limits();
  }

  /** What is said of a worker by its name: holds at once for those that live, and for all that come. */
  setWorker(setting: WorkerSetting): Promise<void> {
    return this.engine.setWorker(setting);
  }

  /** A worker in this process. It runs after `start()`, and `close()` drains it. */
  worker(options: AppWorkerOptions): Worker {
    const { engine, log } = this.#node;
    const worker = makeWorker(options, {
      link: new DirectLink(engine, this.#renewal),
      world: engine.world,
      log,
      name: defaultWorkerName(),
    });
    this.#workers.add(worker);
    void worker.ended.then(() => this.#workers.delete(worker));
    return worker;
  }

  /** Stops all its workers; they can be stopped one by one too. */
  async stopWorkers(options: Parameters<Worker['stop']>[0] = {}): Promise<void> {
    await Promise.all([...this.#workers].map((worker) => worker.stop(options)));
  }

  /** A handle on a task of which only the id is known. */
  handle(id: string): TaskHandle {
    return new TaskHandle(this.engine, { id, task: this.engine.parseId(id), fresh: false });
  }

  async get(id: string): Promise<TaskRecord | undefined> {
    return this.engine.get(this.engine.parseId(id));
  }

  async cancel(id: string): ReturnType<Node['engine']['cancel']> {
    return this.engine.cancel(this.engine.parseId(id));
  }

  /** Runs a finished task again: tries start at 0, the attempt keeps growing. */
  async retry(id: string): Promise<void> {
    return this.engine.retry(this.engine.parseId(id));
  }

  /** Cancels a task, everything that was made to wait for it, and what any of these has spawned; those that run are asked. */
  async cancelTree(id: string, options: TreeOptions = {}): Promise<TreeAnswer<CancelAct>> {
    return this.engine.cancelTree(this.engine.parseId(id), options);
  }

  /** Of the same tasks, runs those again that failed or were cancelled; what has completed keeps its results. */
  async retryTree(id: string, options: TreeOptions = {}): Promise<TreeAnswer<RetryAct>> {
    return this.engine.retryTree(this.engine.parseId(id), options);
  }

  stats(queue: string): Promise<QueueStats> {
    return this.engine.stats(queue);
  }

  queues(): Promise<readonly QueueRecord[]> {
    return this.engine.queues();
  }

  workers(): Promise<readonly WorkerRecord[]> {
    return this.engine.workers();
  }

  events(options: { readonly after?: number; readonly signal?: AbortSignal } = {}): AsyncIterable<FeedItem> {
    return this.engine.events(options);
  }

  /** Names of the housekeeping duties that this process holds. */
  duties(): ReturnType<Node['roster']['held']> {
    return this.#node.roster.held();
  }

  /** Has leases that have run out taken back now, and says of which tasks they were. */
  recoverStale(): Promise<Recovered> {
    const { engine, roster } = this.#node;
    return recoverStale(engine, roster.held().includes('reaper') ? () => roster.tick('reaper') : undefined);
  }

  /** Drains its workers, gives its duties back and closes the store. */
  async close(options: { readonly drainMs?: Duration } = {}): Promise<void> {
    const { drainMs } = options;
    const stop = drainMs === undefined ? {} : { drainMs: parseDuration(drainMs, 'drainMs') };
    // Our threads and timers do not hold the process; whoever waits for their end does, or it would end in the middle.
    const hold = setInterval(() => {}, HOLD_MS);
    try {
      await this.stopWorkers(stop);
    } finally {
      await this.#node.close().finally(() => clearInterval(hold));
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

function requestOf(task: AnyTask, input: unknown, { tx: _tx, ...options }: PushOptions): PushRequest {
  const { name, queue, retry, maxAttempts, timeoutMs, waitTimeoutMs, placement, limits, reuse } = task;
  return {
    queue,
    handler: name,
    input,
    ...(retry === undefined ? {} : { retry }),
    ...(maxAttempts === undefined ? {} : { maxAttempts }),
    ...(timeoutMs === undefined ? {} : { timeout: timeoutMs }),
    ...(waitTimeoutMs === undefined ? {} : { waitTimeout: waitTimeoutMs }),
    ...(placement === undefined ? {} : { placement }),
    ...(limits === undefined ? {} : { limits }),
    ...(reuse === undefined ? {} : { reuse }),
    ...said(options),
  };
}

/** Without what is there and undefined: that says nothing, and must not hide what the task says. */
function said<T extends object>(options: T): Partial<T> {
  for (const value of Object.values(options)) {
    if (value === undefined) {
      return Object.fromEntries(Object.entries(options).filter((entry) => entry[1] !== undefined)) as Partial<T>;
    }
  }
  return options;
}

/** A simulated world has no thread: whoever owns the clock renews from the loop. */
export function renewalOf(url: string, options: NodeOptions): RenewalAddress | undefined {
  if (options.world !== undefined) return undefined;
  const module = new URL(`./direct-renewals${extname(import.meta.url)}`, import.meta.url).href;
  return { module, data: { url, durability: options.durability } satisfies DirectRenewalData };
}
