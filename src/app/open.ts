import { randomUUID } from 'node:crypto';
import { extname } from 'node:path';
import { defaultWorkerName } from '../config/worker-name.ts';
import { type Duration, parseDuration } from '../core/duration.ts';
import { fault } from '../core/errors.ts';
import type { LimitInput } from '../core/limits/limit.ts';
import type { QueueStats } from '../core/task/event.ts';
import type { Clock } from '../core/world.ts';
import type { Pushed } from '../engine/push/pushes.ts';
import type { Explanation } from '../engine/read/explain.ts';
import type { SignalOptions } from '../engine/settle/waits.ts';
import type { CancelAct, RetryAct, TreeAnswer, TreeOptions } from '../engine/trees/trees.ts';
import type { LaunchRequest } from '../fleet/launcher.ts';
import type { Act, AuditRecorder } from '../operate/audit/recorder.ts';
import { EngineSnapshot } from '../operate/engine-snapshot.ts';
import { approvals, decide } from '../operate/operations/approvals.ts';
import { graphRequests } from '../operate/operations/pushing.ts';
import { signal } from '../operate/operations/waits.ts';
import type { Operator } from '../operate/operator.ts';
import type { ApprovalView, ScheduleView, SignalView, TaskView } from '../operate/views.ts';
import type { RenewalAddress } from '../protocol/link.ts';
import type { CredentialDesk } from '../server/credentials/desk.ts';
import type { LimitRecord, QueueRecord, WorkerRecord, WorkerSetting } from '../store/store.ts';
import type { AnyTask } from '../worker/define/definition.ts';
import type { InputOf, ResultOf } from '../worker/define/pushable-task.ts';
import type { Decision } from '../worker/durable/durable-context.ts';
import type { Vault } from '../worker/vault/vault.ts';
import type { Worker } from '../worker/worker.ts';
import type { AnyWorkflow } from '../worker/workflow/workflow.ts';
import { blobReader } from './artifacts/blob-reader.ts';
import { type AppArtifacts, CalledArtifacts } from './artifacts/library.ts';
import { ownerBy } from './audit/owner.ts';
import type { BuiltinOptions } from './builtin-worker.ts';
import type { ClusterOptions } from './cluster.ts';
import { AppFleet, type FleetOptions } from './fleet/app-fleet.ts';
import { TaskHandle } from './library/handle.ts';
import type { AppFeedItem, Leasehold, RunArguments, WorkflowHandle } from './library/leasehold.ts';
import { type AppPools, CalledPools } from './library/pools.ts';
import {
  type GraphTaskInput,
  graphOf,
  type PushArguments,
  type PushOptions,
  pushesOf,
  pushOf,
} from './library/pushing.ts';
import { type AppRuns, CalledRuns } from './library/runs.ts';
import { type AppSchedules, CalledSchedules, type ScheduleOptions } from './library/schedules.ts';
import { type AppWorkflows, CalledWorkflows } from './library/stored-workflows.ts';
import { type AppTriggers, CalledTriggers } from './library/triggers.ts';
import { startOver, startWorkflow, workflowHandle } from './library/workflow-runs.ts';
import { DirectLink } from './link/direct-link.ts';
import type { DirectRenewalData } from './link/direct-renewals.ts';
import type { DirectLinkOptions } from './link/link-terms.ts';
import { type Admission, type Node, type NodeOptions, openNode } from './node.ts';
import type { RemoteApp, RemoteOptions } from './remote/remote-app.ts';
import { type Recovered, recoverStale } from './upkeep/recover.ts';
import { type AppWorkerOptions, artifactPatienceOf, makeWorker, type PoolWorkerOptions } from './worker.ts';
import { realWorld } from './world.ts';

export type { GraphTaskInput, PushOptions } from './library/pushing.ts';

export interface OpenOptions extends NodeOptions {
  /** Another clock than the host's own, for tests; leases are then renewed from the loop. */
  readonly clock?: Clock;
}

const HOLD_MS = 60_000;
const OWNER = ownerBy('library');

/** Where a node answers. */
export type NodeUrl = `http://${string}` | `https://${string}`;

/**
 * Opens a store and everything that works on it: `sqlite:./work.db`, `postgres://…`, or `memory:`. With the address of a node, `http://…`
 * or `https://…`, the same calls go there instead. Both are a `Leasehold`.
 */
export function open(url: NodeUrl, options?: RemoteOptions): Promise<RemoteApp>;
export function open(url: string, options?: OpenOptions): Promise<App>;
export async function open(url: string, options: OpenOptions | RemoteOptions = {}): Promise<App | RemoteApp> {
  if (!/^https?:\/\//.test(url)) return openApp(url, options as OpenOptions);
  // Loaded here: a program that works on a store needs no client.
  const { openRemote } = await import('./remote/remote-app.ts');
  return openRemote(url, options as RemoteOptions);
}

/** An app on a store. With cluster options it is a node. */
export async function openApp(
  url: string,
  options: OpenOptions,
  cluster?: ClusterOptions,
  admission?: Admission,
): Promise<App> {
  // A name of its own, so that the renewal thread can open the same memory.
  const named = url === 'memory:' ? `memory:${randomUUID()}` : url;
  const { clock, ...rest } = options;
  const nodeOptions = clock === undefined ? rest : { ...rest, world: { ...(rest.world ?? realWorld()), clock } };
  const { pools = nodeOptions.world === undefined && nodeOptions.duties !== false } = options;
  const node = await openNode(named, nodeOptions, cluster, admission);
  const { allowHttp, launchers } = options;
  const fleet = { url: named, rounds: pools, crowded: cluster === undefined, allowHttp, launchers };
  return new App(node, renewalOf(named, nodeOptions), fleet);
}

/** The library: push tasks, run workers, follow results. */
export class App implements Leasehold {
  readonly #node: Node;
  readonly #renewal: RenewalAddress | undefined;
  /** By which another process finds the store; undefined: none does. */
  readonly #url: string | undefined;
  readonly #workers = new Set<Worker>();
  #closing = false;
  /** Runs of machines: start, look, cancel, retry, fork. */
  readonly runs: AppRuns;
  /** Schedules: look, pause, resume, run, remove. */
  readonly schedules: AppSchedules;
  readonly #schedules: CalledSchedules;
  /** Stored workflows: apply, look, enable, run. */
  readonly workflows: AppWorkflows;
  /** How many workers there should be: put, look, check. */
  readonly pools: AppPools;
  /** Triggers: what starts work when something happens. */
  readonly triggers: AppTriggers;
  /** Files that tasks have left behind: list, look, read, save, remove. */
  readonly artifacts: AppArtifacts;

  readonly #fleet: AppFleet;
  readonly #caller = (): Promise<Operator> => this.#operator();
  #poolWorkers: PoolWorkerOptions | undefined;
  #desk: CredentialDesk | undefined;

  constructor(
    node: Node,
    renewal: RenewalAddress | undefined,
    fleet: Pick<FleetOptions, 'url' | 'rounds' | 'crowded' | 'allowHttp' | 'launchers'>,
  ) {
    this.#node = node;
    const inProcess = (request: LaunchRequest): Promise<string> => this.#startForPool(request);
    this.#fleet = new AppFleet({ ...fleet, engine: node.engine, log: node.log, inProcess });
    const caller = this.#caller;
    this.runs = new CalledRuns(caller);
    this.#schedules = new CalledSchedules(caller);
    this.schedules = this.#schedules;
    this.workflows = new CalledWorkflows(caller);
    this.pools = new CalledPools(caller);
    this.triggers = new CalledTriggers(caller);
    this.artifacts = new CalledArtifacts(caller);
    this.#renewal = renewal;
    this.#url = fleet.url.startsWith('memory:') ? undefined : fleet.url;
    this.executeTriggers();
  }

  async #operator(): Promise<Operator> {
    const { EngineOperator } = await import('../operate/engine-operator.ts');
    const [recorder, { isOwnWork }] = await Promise.all([this.#audit(), import('../operate/audit/actions.ts')]);
    const audit = { recorder, actor: OWNER, skips: isOwnWork };
    return new EngineOperator(this.engine, undefined, undefined, audit, undefined, blobReader(this.#node.blobs));
  }

  /** A program that changes nothing for others need not load what writes it down. */
  async #audit(): Promise<AuditRecorder> {
    const { AuditRecorder } = await import('../operate/audit/recorder.ts');
    return new AuditRecorder(this.engine, this.#node.log);
  }

  /** Performs an administrative action, and writes down that this program did it. */
  async #audited<T>(act: Pick<Act, 'action' | 'target'>, by: string | undefined, work: () => Promise<T>): Promise<T> {
    return (await this.#audit()).around({ ...act, actor: { ...OWNER, by } }, work);
  }

  /** The engine below, for what the library does not offer. */
  get engine(): Node['engine'] {
    return this.#node.engine;
  }

  /** Where the bytes of artifacts lie. */
  get blobs(): Node['blobs'] {
    return this.#node.blobs;
  }

  /** What it asks of its workers. */
  get terms(): Node['terms'] {
    return this.#node.terms;
  }

  /** Checks the input against the schema of the task and stores it; resolves when it is durable. */
  async push<T extends AnyTask>(task: T, ...args: PushArguments<T>): Promise<TaskHandle<ResultOf<T>>> {
    const options = args[1];
    const made = pushOf(task, args[0], options);
    // A task without a schema goes on in this turn.
    const request = made instanceof Promise ? await made : made;
    const pushed =
      options?.tx === undefined
        ? await this.engine.push(request)
        : ((await this.engine.pushIn(options.tx, [request]))[0] as Pushed);
    return new TaskHandle<ResultOf<T>>(this.engine, pushed, this.#caller);
  }

  /** Starts a run of a workflow, or goes on with the one that has the execution id. */
  async run<W extends AnyWorkflow>(workflow: W, ...args: RunArguments<W>): Promise<WorkflowHandle<ResultOf<W>>> {
    const [input, options = {}] = args;
    const started = await startWorkflow(workflow, input, options, startOver(await this.#operator()));
    const handle = new TaskHandle<ResultOf<W>>(
      this.engine,
      { ...started, task: this.engine.parseId(started.id) },
      this.#caller,
    );
    return workflowHandle(handle, options.executionId, (channel, body) => this.signal(channel, body));
  }

  /** All inputs are checked before any is stored. */
  async pushMany<T extends AnyTask>(
    task: T,
    inputs: readonly InputOf<T>[],
    options: Omit<PushOptions, 'unique' | 'op'> = {},
  ): Promise<readonly TaskHandle<ResultOf<T>>[]> {
    const requests = await pushesOf(task, inputs, options);
    const pushed = await (options.tx === undefined
      ? this.engine.pushMany(requests)
      : this.engine.pushIn(options.tx, requests));
    return pushed.map((one) => new TaskHandle<ResultOf<T>>(this.engine, one, this.#caller));
  }

  /** Tasks that wait for each other, all or nothing; cycles and unknown names are refused. Answers handles by name. */
  async pushGraph(graph: readonly GraphTaskInput[]): Promise<Readonly<Record<string, TaskHandle>>> {
    const requests = await graphOf(graph);
    const pushed = await this.engine.pushGraph(graphRequests(this.engine, requests));
    return Object.fromEntries(
      pushed.map((one, i) => [requests[i]?.name, new TaskHandle(this.engine, one, this.#caller)]),
    );
  }

  /** Wakes the task that has waited longest on the channel. If none waits, the signal is kept for the next one. */
  signal(channel: string, body?: unknown, options: SignalOptions = {}): Promise<SignalView> {
    return signal(this.engine, channel, body, options);
  }

  /** Tasks that wait for somebody's decision, oldest first. */
  approvals({ limit = 100 }: { readonly limit?: number } = {}): Promise<readonly ApprovalView[]> {
    return approvals(this.engine, limit);
  }

  /** Decides for a task that waits for a decision. The first decision counts; a second one is refused with `CONFLICT`. */
  decide(id: string, decision: Decision & { readonly key?: string }): Promise<void> {
    return decide(this.engine, id, decision);
  }

  /** Why a task is in its state, by the rules that claims use now. */
  async explain(id: string): Promise<Explanation> {
    return this.engine.explain(this.engine.parseId(id));
  }

  /** Makes a limit or changes it, for the whole cluster at once; answers its revision. */
  schedule<T extends AnyTask>(name: string, options: ScheduleOptions<T>): Promise<ScheduleView> {
    return this.#schedules.put(name, options);
  }

  setLimit(name: string, limit: LimitInput, by?: string): Promise<number> {
    return this.#audited({ action: 'editLimit', target: name }, by, () => this.engine.limits.set(name, limit, by));
  }

  removeLimit(name: string, by?: string): Promise<void> {
    return this.#audited({ action: 'removeLimit', target: name }, by, () => this.engine.limits.remove(name, by));
  }

  limits(): Promise<readonly LimitRecord[]> {
    return this.engine.limits.list();
  }

  /** Settings of a worker by its name. They hold at once for running workers, and for all that register later. */
  setWorker(setting: WorkerSetting): Promise<void> {
    const act = { action: 'editWorker', target: setting.name };
    return this.#audited(act, undefined, () => this.engine.workers.set(setting));
  }

  /** A worker in this process. It runs after `start()`, and `close()` drains it. */
  worker(options: AppWorkerOptions): Worker {
    const { engine, log } = this.#node;
    const name = defaultWorkerName();
    const desk = this.#desk;
    const worker = makeWorker(options, {
      link: new DirectLink(engine, this.#renewal, { ...this.terms, desk, ...this.#artifactPlace(options) }),
      world: engine.world,
      log,
      name,
      // In memory: whatever it is given it is given anew at each start.
      ...(desk === undefined ? {} : { vault: () => memoryVault(options.name ?? name) }),
    });
    this.#workers.add(worker);
    void worker.ended.then(() => this.#workers.delete(worker));
    return worker;
  }

  #artifactPlace(options: AppWorkerOptions): DirectLinkOptions {
    if (!this.blobs.isKnown) return {};
    return { artifacts: { blobs: this.blobs.open, patienceMs: artifactPatienceOf(options) } };
  }

  /** Workers that this process makes from now on are given the credentials that they are chosen for. */
  giveCredentials(desk: CredentialDesk): void {
    this.#desk = desk;
  }

  /** What workers are made of that pools of the kind `in-process` start in this process; queues, tags and slots are those of the pool. */
  poolWorkers(options: PoolWorkerOptions): void {
    this.#poolWorkers = options;
  }

  async #startForPool({ pool, ticket, ticketId }: LaunchRequest): Promise<string> {
    const options = this.#poolWorkers;
    if (options === undefined) {
      const hint = 'Say with app.poolWorkers({ tasks }) what its workers are made of.';
      throw fault('UNSUPPORTED', {}, { hint: `This process has no workers for pools. ${hint}` });
    }
    const { queues, worker } = await this.engine.pools.get(pool);
    const { life, slots, tags } = worker;
    const started = this.worker({
      ...options,
      ...(life === 'once' ? { once: true, idleExit: '2s' } : {}),
      name: ticketId,
      queues,
      tags,
      slots,
      ticket,
    });
    await started.start();
    return ticketId;
  }

  /** Stops all workers of this app; each can also be stopped by itself. */
  async stopWorkers(options: Parameters<Worker['stop']>[0] = {}): Promise<void> {
    await Promise.all([...this.#workers].map((worker) => worker.stop(options)));
  }

  /** A handle for a task of which only the id is known. */
  handle(id: string): TaskHandle {
    return new TaskHandle(this.engine, { id, task: this.engine.parseId(id), fresh: false }, this.#caller);
  }

  async get(id: string): Promise<TaskView | undefined> {
    const task = this.engine.parseId(id);
    return (await new EngineSnapshot(this.engine).shown([task]))[0];
  }

  async cancel(id: string): ReturnType<Node['engine']['cancel']> {
    return this.engine.cancel(this.engine.parseId(id));
  }

  /** Runs a finished task again: tries start at 0, the attempt keeps growing. */
  async retry(id: string): Promise<void> {
    return this.engine.retry(this.engine.parseId(id));
  }

  /** Cancels a task, everything that was made to wait for it, and what any of these has spawned. Running tasks are asked to stop. */
  async cancelTree(id: string, options: TreeOptions = {}): Promise<TreeAnswer<CancelAct>> {
    return this.engine.trees.cancel(this.engine.parseId(id), options);
  }

  /** Runs the failed and cancelled ones among the same tasks again. Completed ones keep their results. */
  async retryTree(id: string, options: TreeOptions = {}): Promise<TreeAnswer<RetryAct>> {
    return this.engine.trees.retry(this.engine.parseId(id), options);
  }

  stats(queue: string): Promise<QueueStats> {
    return this.engine.stats(queue);
  }

  queues(): Promise<readonly QueueRecord[]> {
    return this.engine.queues();
  }

  workers(): Promise<readonly WorkerRecord[]> {
    return this.engine.workers.list();
  }

  /** The events after this position of the feed: no gap, no repeat. */
  async *events(options: { readonly after?: number; readonly signal?: AbortSignal } = {}): AsyncIterable<AppFeedItem> {
    for await (const item of this.engine.events(options)) {
      yield item.kind !== 'event'
        ? item
        : { kind: 'event', event: { ...item.event, id: this.engine.idOf(item.event) } };
    }
  }

  /** The membership in a cluster, of a process that is a node. */
  get cluster(): Node['cluster'] {
    return this.#node.cluster;
  }

  /** Names of the housekeeping duties that this process holds. */
  duties(): ReturnType<Node['roster']['held']> {
    return this.#node.roster.held();
  }

  /** Executes the runs of triggers that ask for this process, with what its worker may do. */
  executeTriggers(builtin?: BuiltinOptions): void {
    let executors: Promise<{ serve(execution: 'loop' | 'process', queue: string): void }> | undefined;
    const { engine, log, triggerHost } = this.#node;
    const make = async (): Promise<{ serve(execution: 'loop' | 'process', queue: string): void }> => {
      const { Executors } = await import('./triggers/executors.ts');
      return new Executors({ engine, log, store: this.#url, worker: (options) => this.worker(options), builtin });
    };
    triggerHost.execute({
      serve: (execution, queue) => {
        executors ??= make();
        void executors.then((made) => this.#closing || made.serve(execution, queue));
      },
    });
  }

  /** Has expired leases taken back now, and answers which tasks they were of. */
  recoverStale(): Promise<Recovered> {
    const { engine, roster } = this.#node;
    return recoverStale(engine, roster.held().includes('reaper') ? () => roster.tick('reaper') : undefined);
  }

  /** Drains its workers, gives its duties back and closes the store. */
  async close(options: { readonly drainMs?: Duration } = {}): Promise<void> {
    this.#closing = true;
    const { drainMs } = options;
    const stop = drainMs === undefined ? {} : { drainMs: parseDuration(drainMs, 'drainMs') };
    // Our threads and timers do not keep the process alive. While this close waits, something must, or the process would end in the middle.
    const hold = setInterval(() => {}, HOLD_MS);
    try {
      await this.#fleet.close();
      await this.stopWorkers(stop);
    } finally {
      await this.#node.close().finally(() => clearInterval(hold));
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** A simulated world has no thread: leases are then renewed from the loop. */
export function renewalOf(url: string, options: NodeOptions): RenewalAddress | undefined {
  if (options.world !== undefined) return undefined;
  // Each by its whole name: the build finds what is started by its URL so.
  const module = /^postgres(ql)?:/.test(url)
    ? new URL(`./link/postgres-renewals${extname(import.meta.url)}`, import.meta.url)
    : new URL(`./link/direct-renewals${extname(import.meta.url)}`, import.meta.url);
  return { module: module.href, data: { url, durability: options.durability } satisfies DirectRenewalData };
}

/** Credentials in memory alone. Few processes have some: only those load what opens them. */
async function memoryVault(name: string): Promise<Vault> {
  const [{ MemoryShelf }, { Vault }] = await Promise.all([
    import('../worker/vault/shelf.ts'),
    import('../worker/vault/vault.ts'),
  ]);
  return new Vault(name, new MemoryShelf());
}
