import { pathToFileURL } from 'node:url';
import { backoffMs, type Log, queueScale, SILENT, type World } from '../../../app/library/run-pools.ts';
import { realWorld } from '../../../app/world.ts';
import { refuse } from '../../refuse.ts';
import type { AgentGateway, InProcessAgent } from '../gateways.ts';
import { connectRuntimeDb } from '../run-functions.ts';
import type { RuntimeDb, RuntimeDbOptions } from '../runtime-db.ts';
import { ChildWorker } from './child-worker.ts';
import { PoolConfig, type PoolConfigFields, WorkerConfig, type WorkerConfigFields } from './configs.ts';
import { decideByDemand, decideByThreshold, type PoolMember, type QueueDepth, type ScalingDecision } from './decide.ts';
import { handlerOf } from './load-handler.ts';
import type { RunHandler } from './run-handler.ts';
import { type PoolStats, statsOf, Totals } from './stats.ts';
import { type PoolWorker, Worker, type WorkerStop } from './worker.ts';

export interface PoolOptions extends Pick<RuntimeDbOptions, 'durability' | 'retentionMs' | 'duties' | 'dutyMs'> {
  readonly log?: Log;
  readonly world?: World;
  /** The default handler asks this one. */
  readonly gateway?: AgentGateway;
  /** The default handler asks this function, as a gateway within the process. */
  readonly agent?: InProcessAgent;
}

/** A worker that lives for so long was no failed start. */
const SETTLED_MS = 10_000;

/**
 * A pool of workers for queued runs: never fewer than the least number, dead ones replaced, more or fewer as the queue asks.
 *
 *   created ──start──> running ──stop──> stopping ──> stopped
 *
 * One look at a time: what it decides rests on the workers that it has counted. The store may be away; then nothing is decided, and the workers,
 * which wait for it by themselves, go on when it is back.
 */
export class WorkerPoolManager {
  readonly poolConfig: PoolConfig;
  readonly workerConfig: WorkerConfig;
  readonly #runHandler: RunHandler | undefined;
  readonly #options: PoolOptions;
  readonly #log: Log;
  readonly #world: World;
  readonly #workers = new Map<string, PoolWorker>();
  readonly #totals = new Totals();
  #state: 'created' | 'running' | 'stopped' = 'created';
  #conn: RuntimeDb | undefined;
  #handler: RunHandler | undefined;
  #looking: Promise<unknown> = Promise.resolve();
  #cancelLook: (() => void) | undefined;
  /** Workers in a row that have ended soon after their start. */
  #failures = 0;
  #failedAt = 0;
  #stopping: Promise<void> | undefined;

  constructor(
    poolConfig: PoolConfig | PoolConfigFields = {},
    workerConfig: WorkerConfig | WorkerConfigFields = {},
    runHandler?: RunHandler,
    options: PoolOptions = {},
  ) {
    this.poolConfig = poolConfig instanceof PoolConfig ? poolConfig : new PoolConfig(poolConfig);
    this.workerConfig = workerConfig instanceof WorkerConfig ? workerConfig : new WorkerConfig(workerConfig);
    if (runHandler !== undefined && typeof runHandler !== 'function')
      throw refuse('run_handler', 'it is a function that performs a run');
    this.#runHandler = runHandler;
    this.#options = options;
    this.#log = options.log ?? SILENT;
    this.#world = options.world ?? realWorld();
    this.#checkProcesses();
  }

  /** The workers that are there, by their ids; those that are about to leave too. */
  get workers(): ReadonlyMap<string, PoolWorker> {
    return this.#workers;
  }

  /** The connection of the pool itself, while it runs. */
  get conn(): RuntimeDb | undefined {
    return this.#conn;
  }

  /** Opens the store and starts the least number of workers. Rejects when that cannot be done; nothing of it is left then. */
  async start(): Promise<void> {
    if (this.#state !== 'created') throw refuse('pool', 'it was started or stopped before');
    this.#state = 'running';
    const { dbPath, queue, minWorkers, processes, handlerModule } = this.poolConfig;
    const { log, world, durability, retentionMs, duties, dutyMs } = this.#options;
    try {
      // In a process of its own each worker loads its handler itself.
      if (!processes) this.#handler = await this.#inProcessHandler();
      else if (handlerModule === null && this.workerConfig.gatewayUrl === null)
        throw refuse('handler_module', 'workers that are processes need it, or gateway_url of the worker config');
      this.#conn = await connectRuntimeDb(
        dbPath,
        given({ queue, log, world, durability, retentionMs, duties, dutyMs }),
      );
      await Promise.all(Array.from({ length: minWorkers }, () => this.#spawn()));
    } catch (error) {
      await this.stop({ drain: false });
      throw error;
    }
    this.#lookIn(this.poolConfig.monitorIntervalSeconds * 1000);
  }

  /** With `drain` (default) runs that are under way come to their ends. Without, they are given back. A later call can only hurry. */
  stop({ drain = true }: WorkerStop = {}): Promise<void> {
    this.#state = 'stopped';
    this.#cancelLook?.();
    // To those that are there now, and to one that is on its way.
    if (!drain) for (const worker of this.#workers.values()) void worker.stop({ drain });
    this.#stopping ??= this.#stop(drain);
    return this.#stopping;
  }

  async #stop(drain: boolean): Promise<void> {
    // At once: a look may wait for a store that is away.
    await Promise.all([...this.#workers.values()].map((worker) => worker.stop({ drain })));
    await this.#looking;
    await Promise.all([...this.#workers.values()].map((worker) => worker.stop({ drain })));
    this.#workers.clear();
    const conn = this.#conn;
    this.#conn = undefined;
    await conn?.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** The figures of Universal Agent's pool, with its keys. */
  getPoolStats(): PoolStats {
    return statsOf([...this.#workers.values()], this.#totals);
  }

  /** Looks now instead of waiting for the monitor. Answers what it has done; undefined: the store is away, or the pool has stopped. */
  check(): Promise<ScalingDecision | undefined> {
    const look = this.#looking.then(() => this.#look());
    this.#looking = look.catch(() => {});
    return look;
  }

  #lookIn(ms: number): void {
    this.#cancelLook?.();
    if (this.#state !== 'running') return;
    // It keeps the process alive: a pool is there until it is stopped.
    this.#cancelLook = this.#world.timers.after(ms, () => {
      void this.check().then(() => this.#lookIn(this.poolConfig.monitorIntervalSeconds * 1000));
    });
  }

  async #look(): Promise<ScalingDecision | undefined> {
    const conn = this.#conn;
    if (this.#state !== 'running' || conn === undefined) return undefined;
    let depth: QueueDepth;
    try {
      const { runnable = 0, oldestAgeMs = 0 } = (await queueScale(conn.app.engine.store, conn.queueName)) ?? {};
      depth = { runnable, oldestAgeMs };
    } catch (error) {
      this.#log.warn('the pool cannot see its queue; its workers wait for the store', { error: String(error) });
      return undefined;
    }
    const decision = this.#decide(depth);
    for (const id of decision.remove) this.#remove(id);
    await Promise.all(Array.from({ length: decision.spawn }, () => this.#spawn().catch(this.#unstarted)));
    return decision;
  }

  #decide(depth: QueueDepth): ScalingDecision {
    const { poolConfig, workerConfig } = this;
    const members = [...this.#workers.values()].map(memberOf);
    const decision =
      poolConfig.scaling === 'threshold'
        ? decideByThreshold(depth, members, poolConfig)
        : decideByDemand(depth, members, poolConfig, workerConfig.maxConcurrentRuns);
    // Workers that end as soon as they begin would be started without end.
    return this.#restMs() > 0 ? { ...decision, spawn: 0 } : decision;
  }

  #restMs(): number {
    // The first is replaced at once.
    const rest = backoffMs(Math.max(0, this.#failures - 1));
    return Math.max(0, this.#failedAt + rest - this.#world.clock.monotonic());
  }

  async #spawn(): Promise<void> {
    const conn = this.#conn;
    if (conn === undefined || this.#state !== 'running') return;
    const config = this.workerConfig.renamed();
    const worker = this.#make(conn, config);
    const begun = this.#world.clock.monotonic();
    this.#workers.set(config.workerId, worker);
    void worker.ended.then(() => this.#ended(worker, begun));
    try {
      await worker.start();
      this.#log.info('a worker was started', { worker_id: config.workerId, workers: this.#workers.size });
    } catch (error) {
      await worker.stop({ drain: false });
      throw error;
    }
  }

  #make(conn: RuntimeDb, config: WorkerConfig): PoolWorker {
    const log = this.#log;
    if (this.#handler !== undefined) return new Worker(config, conn, this.#handler, { log });
    const { dbPath, queue, handlerModule } = this.poolConfig;
    const start = { dbPath, queue, handlerModule: handlerModule === null ? null : urlOf(handlerModule) };
    return new ChildWorker(config, { start, world: this.#world, log, onChange: () => {} });
  }

  /** Idle when it was counted. If it has a run by now, that comes to its end. */
  #remove(id: string): void {
    void this.#workers.get(id)?.stop({ drain: true });
    this.#log.info('a worker is sent home', { worker_id: id, workers: this.#workers.size - 1 });
  }

  /** Whatever ended it. One that nobody has stopped is replaced. */
  #ended(worker: PoolWorker, begun: number): void {
    const { state } = worker;
    this.#totals.add(state);
    this.#workers.delete(worker.workerId);
    if (this.#state !== 'running') return;
    const wanted = this.#workers.size >= this.poolConfig.minWorkers;
    const now = this.#world.clock.monotonic();
    if (now - begun >= SETTLED_MS || state.runsCompleted > 0) this.#failures = 0;
    else if (!wanted) {
      this.#failures++;
      this.#failedAt = now;
    }
    if (!wanted) this.#lookIn(this.#restMs());
  }

  readonly #unstarted = (error: unknown): void => {
    this.#log.warn('a worker could not be started', { error: error instanceof Error ? error.message : String(error) });
  };

  #inProcessHandler(): Promise<RunHandler> {
    const { gateway, agent } = this.#options;
    const { handlerModule } = this.poolConfig;
    const module = handlerModule === null ? null : urlOf(handlerModule);
    return handlerOf({ runHandler: this.#runHandler, gateway, agent }, this.workerConfig.gatewayUrl, module);
  }

  #checkProcesses(): void {
    const { processes, dbPath } = this.poolConfig;
    const { gateway, agent } = this.#options;
    if (!processes) return;
    if (this.#runHandler !== undefined || gateway !== undefined || agent !== undefined)
      throw refuse('processes', 'a function cannot go to another process; export it from handler_module');
    if (dbPath.startsWith('memory:')) throw refuse('processes', 'other processes cannot see a store in memory');
  }
}

function memberOf({ state: { workerId, status, running, idleMs } }: PoolWorker): PoolMember {
  return { id: workerId, status, running, idleMs };
}

function urlOf(module: string): string {
  return /^(file|data|node):/.test(module) ? module : pathToFileURL(module).href;
}

function given<T extends object>(values: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
