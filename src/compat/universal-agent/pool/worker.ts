import { type Log, SILENT, type TaskWorker } from '../../../app/library/run-pools.ts';
import { refuse } from '../../refuse.ts';
import type { RuntimeDb, RuntimeDbOptions } from '../runtime-db.ts';
import { WorkerConfig, type WorkerConfigFields } from './configs.ts';
import type { WorkerStatus } from './decide.ts';
import type { RunHandler } from './run-handler.ts';
import { runTask } from './run-task.ts';

/** What a worker is at, as others see it. */
export interface WorkerState {
  readonly workerId: string;
  readonly status: WorkerStatus;
  /** Of several the one that began first. */
  readonly currentRunId: string | null;
  /** How many runs it is at. */
  readonly running: number;
  readonly runsCompleted: number;
  readonly runsFailed: number;
  /** How long it has had no run; 0 for one that has some. */
  readonly idleMs: number;
}

export interface WorkerStop {
  /** Lets runs that are under way come to their ends; default true. Without, they are given back. */
  readonly drain?: boolean;
}

/** A worker of a pool, in this process or in one of its own. */
export interface PoolWorker {
  readonly workerId: string;
  readonly state: WorkerState;
  start(): Promise<void>;
  stop(options?: WorkerStop): Promise<void>;
  /** Resolves when it has ended, whatever ended it. */
  readonly ended: Promise<void>;
}

export interface WorkerParts {
  readonly log?: Log;
  /** Called when its state has changed. */
  readonly onChange?: () => void;
}

/**
 * One worker: takes runs from the queue of its connection and hands them to the handler. It works over a connection of its own, so that
 * its leases last as long as its configuration says. Leases are renewed by a thread, fenced, and taken back by the housekeeping of whichever
 * process has it, like those of every worker.
 */
export class Worker implements PoolWorker {
  readonly config: WorkerConfig;
  readonly #conn: RuntimeDb;
  readonly #handler: RunHandler;
  readonly #log: Log;
  readonly #onChange: () => void;
  readonly #ended = Promise.withResolvers<void>();
  /** Runs that it is at, in the order of their beginnings. */
  readonly #running = new Map<symbol, string>();
  #own: RuntimeDb | undefined;
  #worker: TaskWorker | undefined;
  #status: 'idle' | 'draining' | 'stopped' = 'idle';
  #starting: Promise<void> | undefined;
  #idleSince: number;
  #stopping: Promise<void> | undefined;
  #isHurried = false;

  constructor(
    config: WorkerConfig | WorkerConfigFields,
    conn: RuntimeDb,
    runHandler: RunHandler,
    { log = SILENT, onChange = () => {} }: WorkerParts = {},
  ) {
    if (typeof runHandler !== 'function') throw refuse('run_handler', 'it is a function that performs a run');
    this.config = config instanceof WorkerConfig ? config : new WorkerConfig(config);
    this.#conn = conn;
    this.#handler = runHandler;
    this.#log = log;
    this.#onChange = onChange;
    this.#idleSince = this.#now();
  }

  get workerId(): string {
    return this.config.workerId;
  }

  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** The connection that it works over, between its start and its end. */
  get conn(): RuntimeDb | undefined {
    return this.#own;
  }

  get state(): WorkerState {
    const { completed = 0, failed = 0 } = this.#worker?.stats.settled ?? {};
    const [first = null] = this.#running.values();
    const isBusy = first !== null;
    return {
      workerId: this.workerId,
      status: this.#status === 'idle' && isBusy ? 'processing' : this.#status,
      currentRunId: first,
      running: this.#running.size,
      runsCompleted: completed,
      runsFailed: failed,
      idleMs: isBusy ? 0 : this.#now() - this.#idleSince,
    };
  }

  start(): Promise<void> {
    if (this.#starting !== undefined || this.#stopping !== undefined)
      return Promise.reject(refuse('worker', 'it was started or stopped before'));
    this.#starting = this.#start();
    return this.#starting;
  }

  async #start(): Promise<void> {
    const { config } = this;
    try {
      const conn = await this.#conn.connect(connectionOf(config));
      this.#own = conn;
      const parts = { conn, config, handler: this.#handler, log: this.#log };
      this.#worker = conn.app.worker({
        tasks: [runTask({ ...parts, onRun: (runId) => this.#began(runId) })],
        queues: [conn.queueName],
        name: config.workerId,
        slots: config.maxConcurrentRuns,
        // Runs are long: one that is held beside another only waits.
        lookahead: 0,
        onSettled: () => this.#onChange(),
      });
      await this.#worker.start();
    } catch (error) {
      await this.#over();
      throw error;
    }
    void this.#worker.ended.then(() => this.#over());
    this.#idleSince = this.#now();
    this.#onChange();
  }

  stop({ drain = true }: WorkerStop = {}): Promise<void> {
    if (this.#status === 'idle') this.#status = 'draining';
    if (!drain) this.#isHurried = true;
    this.#onChange();
    this.#stopping ??= this.#stop();
    // A later stop can only hurry.
    if (!drain) void this.#worker?.stop({ drain });
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    await this.#starting?.catch(() => {});
    await this.#worker?.stop({ drain: !this.#isHurried });
    await this.#over();
  }

  /** Once, whoever notices first. */
  async #over(): Promise<void> {
    const own = this.#own;
    this.#own = undefined;
    await own
      ?.close()
      .catch((error: unknown) => this.#log.warn('a worker did not end cleanly', { error: String(error) }));
    this.#status = 'stopped';
    this.#ended.resolve();
    this.#onChange();
  }

  #began(runId: string): () => void {
    const key = Symbol(runId);
    this.#running.set(key, runId);
    this.#onChange();
    return () => {
      this.#running.delete(key);
      if (this.#running.size === 0) this.#idleSince = this.#now();
      this.#onChange();
    };
  }

  #now(): number {
    return this.#conn.app.engine.world.clock.monotonic();
  }
}

/** The manager, or whoever opened the other connection, has the housekeeping. */
function connectionOf({
  leaseTtlSeconds,
  heartbeatIntervalSeconds,
  pollIntervalSeconds,
}: WorkerConfig): RuntimeDbOptions {
  return {
    leaseMs: Math.round(leaseTtlSeconds * 1000),
    heartbeatMs: Math.round(heartbeatIntervalSeconds * 1000),
    pollMs: Math.round(pollIntervalSeconds * 1000),
    duties: false,
    housekeeping: false,
  };
}
