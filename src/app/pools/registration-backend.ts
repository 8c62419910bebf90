import {
  checkKey,
  checkOptions,
  fault,
  MAX_COUNT,
  type Manual,
  type ManualOptions,
  openManual,
  type WorkerRecord as Row,
  type StoreTime,
  type TaskRecord,
  whole,
} from '../library/manual.ts';
import { type BackendConfig, storeUrl } from './backend-config.ts';
import { placeIn } from './place.ts';
import { incarnationOf, newestOf, statedStart } from './worker-rows.ts';

/** The states of FlatMachines; any other text is kept too. */
export type WorkerStatus = 'active' | 'terminating' | 'terminated' | 'lost';

export interface WorkerRegistration {
  readonly worker_id: string;
  readonly host?: string;
  readonly pid?: number;
  readonly capabilities?: readonly string[];
  /** The pool that it works for. */
  readonly pool_id?: string;
  /** Seconds between its heartbeats. It is lost when two of them have failed to come, and never earlier; default 30. */
  readonly heartbeat_interval?: number;
  /** A date as text; default: now, by the store's clock. */
  readonly started_at?: string;
}

export interface WorkerRecord extends WorkerRegistration {
  readonly capabilities: readonly string[];
  readonly started_at: string;
  readonly status: string;
  /** The last sign of life: a heartbeat, a claim, or the renewal of one. ISO 8601, UTC. */
  readonly last_heartbeat: string;
  readonly current_task_id?: string;
  /** The metadata of its last heartbeat that had some. */
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export interface WorkerFilter {
  readonly status?: string | readonly string[];
  readonly capability?: string;
  readonly pool_id?: string;
  /**
   * Only workers that gave no sign of life for longer than this, by the store's clock. One that told its heartbeat interval is not
   * stale before twice that.
   */
  readonly stale_threshold_seconds?: number;
}

export interface RegistrationBackend {
  /** Begins a new incarnation; an earlier one of this name is replaced, and inherits nothing. */
  register(worker: WorkerRegistration): Promise<WorkerRecord>;
  heartbeat(worker_id: string, metadata?: Readonly<Record<string, unknown>>): Promise<void>;
  updateStatus(worker_id: string, status: string): Promise<void>;
  get(worker_id: string): Promise<WorkerRecord | null>;
  list(filter?: WorkerFilter): Promise<readonly WorkerRecord[]>;
  /** Runs `body` while no other process on the store runs another under this name. Ours; the registries of other programs need not have it. */
  exclusive?<T>(name: string, body: () => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** Of a worker that does not say how often it beats. */
export const DEFAULT_INTERVAL_SECONDS = 30;
const MOST_INTERVAL_SECONDS = 86_400;
/** So many heartbeats may fail to come. */
const MISSES = 2;

const REGISTRATION: ReadonlySet<string> = new Set([
  'worker_id',
  'host',
  'pid',
  'capabilities',
  'pool_id',
  'heartbeat_interval',
  'started_at',
] satisfies (keyof WorkerRegistration)[]);
const FILTER: ReadonlySet<string> = new Set([
  'status',
  'capability',
  'pool_id',
  'stale_threshold_seconds',
] satisfies (keyof WorkerFilter)[]);

/** The engine's state behind each status; any other text changes no state. */
const STATE_OF: Readonly<Record<WorkerStatus, 'online' | 'draining' | 'offline'>> = {
  active: 'online',
  terminating: 'draining',
  terminated: 'offline',
  // Only the reaper finds a worker lost by itself. One that is marked as lost is not expected to beat.
  lost: 'offline',
};
const WORD_OF: Readonly<Record<Row['state'], WorkerStatus>> = {
  starting: 'active',
  online: 'active',
  draining: 'terminating',
  offline: 'terminated',
  lost: 'lost',
};

export async function createRegistrationBackend(
  config: BackendConfig,
  options: ManualOptions = {},
): Promise<RegistrationBackend> {
  // Few writes, and often a short-lived process: checkpoints need no thread.
  return new EngineRegistrationBackend(
    await openManual(storeUrl(config, 'registration'), { housekeeping: false, ...options }),
  );
}

class EngineRegistrationBackend implements RegistrationBackend {
  readonly #manual: Manual;
  /** Registered here. This object speaks for its own incarnation, never for that of a namesake. */
  readonly #own = new Map<string, number>();

  constructor(manual: Manual) {
    this.#manual = manual;
  }

  async register(worker: WorkerRegistration): Promise<WorkerRecord> {
    checkOptions('worker', worker, REGISTRATION);
    const { worker_id, host, pid, capabilities = [], pool_id, heartbeat_interval, started_at } = worker;
    if (!Array.isArray(capabilities)) throw refuse('capabilities', 'it must be a list of texts');
    if (started_at !== undefined && !(typeof started_at === 'string' && Number.isFinite(Date.parse(started_at)))) {
      throw refuse('started_at', 'it must be a date as text, such as 2026-01-31T12:00:00Z');
    }
    const beatMs = heartbeat_interval === undefined ? undefined : intervalMs(heartbeat_interval);
    const place = pool_id === undefined ? undefined : await placeIn(this.#manual.engine, pool_id, worker_id);
    const number = await this.#manual.register({
      name: worker_id,
      incarnation: checkKey('started_at', incarnationOf(started_at)),
      tags: capabilities.map((tag: unknown) => checkKey('capabilities', tag)),
      host: host === undefined ? undefined : checkKey('host', host),
      pid: pid === undefined ? undefined : whole('pid', pid, 0, MAX_COUNT),
      pool: pool_id === undefined ? undefined : checkKey('pool_id', pool_id),
      redeems: place?.ticket,
      beatMs,
      // In the row, so that it holds for every process that looks for lost workers.
      staleMs: MISSES * (beatMs ?? DEFAULT_INTERVAL_SECONDS * 1000),
    });
    this.#own.set(worker_id, number);
    // It has taken over the place of its predecessor, which counts no more.
    if (place?.before !== undefined) await this.#manual.engine.workers.beat({ worker: place.before, state: 'offline' });
    await this.#manual.engine.workers.beat({ worker: number, state: 'online' });
    const record = await this.get(worker_id);
    if (record === null) throw unknown(worker_id);
    return record;
  }

  async heartbeat(worker_id: string, metadata?: Readonly<Record<string, unknown>>): Promise<void> {
    if (metadata !== undefined && (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata))) {
      throw refuse('metadata', 'it must be an object');
    }
    await this.#beat(worker_id, metadata === undefined ? {} : { metadata });
  }

  async updateStatus(worker_id: string, status: string): Promise<void> {
    const word = checkKey('status', status);
    const state = Object.hasOwn(STATE_OF, word) ? STATE_OF[word as WorkerStatus] : undefined;
    // A status that the state expresses is not stored beside it.
    const own = state !== undefined && word !== 'lost' ? null : word;
    await this.#beat(worker_id, { status: own, ...(state === undefined ? {} : { state }) });
  }

  async get(worker_id: string): Promise<WorkerRecord | null> {
    const view = await this.#view();
    const row = view.newest.get(worker_id);
    return row === undefined ? null : view.record(row);
  }

  async list(filter: WorkerFilter = {}): Promise<readonly WorkerRecord[]> {
    checkOptions('filter', filter, FILTER);
    const { status, capability, pool_id, stale_threshold_seconds: staleSeconds } = filter;
    if (staleSeconds !== undefined && !(Number.isFinite(staleSeconds) && staleSeconds >= 0)) {
      throw refuse('stale_threshold_seconds', 'it must be a number of seconds from 0 on');
    }
    const words = status === undefined ? undefined : new Set(typeof status === 'string' ? [status] : status);
    const view = await this.#view();
    return [...view.newest.values()]
      .filter((row) => words?.has(statusOf(row)) ?? true)
      .filter((row) => capability === undefined || row.tags.includes(capability))
      .filter((row) => pool_id === undefined || row.pool === pool_id)
      .filter((row) => staleSeconds === undefined || view.silentMs(row) > silenceOf(row, staleSeconds * 1000))
      .map((row) => view.record(row));
  }

  exclusive<T>(name: string, body: () => Promise<T>): Promise<T> {
    return this.#manual.exclusive(name, body);
  }

  async close(): Promise<void> {
    await this.#manual.close();
  }

  async #beat(
    worker_id: string,
    change: Omit<Parameters<Manual['engine']['workers']['beat']>[0], 'worker'>,
  ): Promise<void> {
    const { engine } = this.#manual;
    const worker = this.#own.get(worker_id) ?? newestOf(await engine.workers.list(), worker_id)?.worker;
    if (worker === undefined || !(await engine.workers.beat({ worker, ...change }))) throw unknown(worker_id);
  }

  async #view(): Promise<View> {
    const { engine } = this.#manual;
    const [rows, running] = await Promise.all([engine.workers.list(), this.#manual.running()]);
    return new View(rows, running, await engine.store.clock(), engine.leaseMs);
  }
}

/** All workers at one moment. */
class View {
  /** The newest incarnation of each name, in the order in which they registered. */
  readonly newest = new Map<string, Row>();
  /** The running tasks of each name, also under an earlier incarnation. */
  readonly #running = new Map<string, TaskRecord[]>();
  readonly #now: StoreTime;
  readonly #leaseMs: number;

  constructor(rows: readonly Row[], running: readonly TaskRecord[], now: StoreTime, leaseMs: number) {
    const names = new Map(rows.map(({ worker, name }) => [worker, name]));
    for (const row of rows) {
      this.newest.delete(row.name);
      this.newest.set(row.name, row);
    }
    for (const task of running) {
      const name = names.get(task.holder ?? 0);
      if (name !== undefined) this.#running.set(name, [...this.#tasksOf(name), task]);
    }
    this.#now = now;
    this.#leaseMs = leaseMs;
  }

  record(row: Row): WorkerRecord {
    const { name, tags, host, pid, pool, beatMs, startedAt, metadata } = row;
    const current = this.#tasksOf(name).map(({ task }) => task);
    const { calendar, lease } = this.#now;
    return {
      worker_id: name,
      ...(host === undefined ? {} : { host }),
      ...(pid === undefined ? {} : { pid }),
      capabilities: tags,
      ...(pool === undefined ? {} : { pool_id: pool }),
      ...(beatMs === undefined ? {} : { heartbeat_interval: beatMs / 1000 }),
      started_at: statedStart(row) ?? new Date(startedAt ?? 0).toISOString(),
      status: statusOf(row),
      last_heartbeat: new Date(this.#lastSign(row) + calendar - lease).toISOString(),
      ...(current.length === 0 ? {} : { current_task_id: String(Math.min(...current)) }),
      ...(metadata === undefined ? {} : { metadata: JSON.parse(metadata) as Record<string, unknown> }),
    };
  }

  silentMs(row: Row): number {
    return this.#now.lease - this.#lastSign(row);
  }

  /** A worker with a blocked event loop cannot beat, but the thread that renews its claims shows that it is alive. */
  #lastSign(row: Row): number {
    const renewals = this.#tasksOf(row.name).map(({ leaseUntil = 0 }) => leaseUntil - this.#leaseMs);
    return Math.min(Math.max(row.seenAt, ...renewals), Math.max(row.seenAt, this.#now.lease));
  }

  #tasksOf(name: string): readonly TaskRecord[] {
    return this.#running.get(name) ?? [];
  }
}

/** The silence that makes a worker stale for a caller who would take this one. */
function silenceOf({ beatMs = 0 }: Row, wantedMs: number): number {
  return Math.max(wantedMs, MISSES * beatMs);
}

function intervalMs(seconds: unknown): number {
  if (typeof seconds === 'number' && seconds > 0 && seconds <= MOST_INTERVAL_SECONDS) {
    return Math.max(1, Math.round(seconds * 1000));
  }
  throw refuse('heartbeat_interval', `it must be a number of seconds above 0, and at most ${MOST_INTERVAL_SECONDS}`);
}

function refuse(field: string, problem: string): Error {
  return fault('INVALID_INPUT', { field, problem });
}

function statusOf({ status, state }: Row): string {
  return status ?? WORD_OF[state];
}

function unknown(worker_id: unknown): Error {
  return fault(
    'NOT_FOUND',
    { kind: 'worker', id: String(worker_id) },
    { hint: 'Register it first; one that was silent for longer than the retention is forgotten.' },
  );
}
