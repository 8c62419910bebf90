import { parseDuration } from '../core/duration.ts';
import { fault } from '../core/errors.ts';
import { EMPTY_STATS, type QueueStats } from '../core/event.ts';
import { type IdCodec, makeIdCodec } from '../core/ids.ts';
import { DEFAULT_LEASE_MS, type Lease } from '../core/lease.ts';
import { checkKey, checkName } from '../core/names.ts';
import type { TaskState } from '../core/task.ts';
import type { World } from '../core/world.ts';
import type {
  AttemptRecord,
  CallerTransaction,
  CancelAnswer,
  Grant,
  QueueRecord,
  RenewAnswer,
  Store,
  TaskQuery,
  TaskRecord,
  WorkerRecord,
} from '../store/store.ts';
import { Claims } from './claim.ts';
import { Coalescer } from './coalescer.ts';
import { Feed, type FeedItem } from './feed.ts';
import { Interner } from './interner.ts';
import { type PushRequest, whole } from './push.ts';
import { type Pushed, Pushes } from './pushes.ts';
import { Ring } from './ring.ts';
import { type FailOptions, type HeldLease, type ReleaseOptions, Settles } from './settles.ts';

export interface EngineOptions {
  readonly store: Store;
  readonly world: World;
  readonly leaseMs?: number;
  /** How long finished tasks, events and keys are kept. */
  readonly retentionMs?: number;
}

export const DEFAULT_RETENTION_MS = 7 * 24 * 3_600_000;

export interface ClaimOptions {
  /** The worker incarnation that will hold the leases, from `registerWorker`. */
  readonly worker: number;
  readonly max: number;
  readonly queues?: readonly string[];
  readonly handlers?: readonly string[];
  readonly leaseMs?: number;
  /** Wait this long for the first task; default: answer at once. */
  readonly waitMs?: number;
  readonly signal?: AbortSignal;
  /** Operation id: repeating the call with it gives the grants of the first one, as far as they still hold. */
  readonly op?: string;
}

/** Durable, fenced, leased tasks on any store. Every process has its own; none needs another one to be right. */
export class Engine {
  readonly store: Store;
  readonly world: World;
  readonly leaseMs: number;
  readonly retentionMs: number;
  readonly ring: Ring;
  readonly interner: Interner;
  readonly #ids: IdCodec;
  readonly #pushes: Pushes;
  readonly #claims: Claims;
  readonly #settles: Settles;
  readonly #feed: Feed;
  /** Tells the duties of this process what will be due when; a hint, like every wake-up. */
  onDue: (inMs: number) => void = () => {};
  onLease: (inMs: number) => void = () => {};

  constructor(options: EngineOptions) {
    const { store, world } = options;
    this.store = store;
    this.world = world;
    this.leaseMs = options.leaseMs ?? DEFAULT_LEASE_MS;
    this.retentionMs = options.retentionMs ?? DEFAULT_RETENTION_MS;
    this.ring = new Ring(store, world);
    this.interner = new Interner(store, (lane) => this.ring.learn(lane));
    this.#ids = makeIdCodec(store.clusterKey);
    this.#feed = new Feed(store, world);
    const { interner } = this;
    const coalescer = new Coalescer(world);
    const onDue = (inMs: number): void => this.onDue(inMs);
    const onCommit = (): void => this.#feed.nudge();
    // What frees leaves before what takes, so that a settle and the next claim can share a commit.
    this.#settles = new Settles({
      store,
      coalescer,
      interner,
      random: world.random,
      onReady: (lane) => (lane === undefined ? this.ring.hint() : this.ring.mark(lane)),
      onDue,
      onCommit,
    });
    this.#pushes = new Pushes({
      store,
      coalescer,
      interner,
      ids: this.#ids,
      maxUniqueMs: this.retentionMs,
      onReady: (lane) => this.ring.mark(lane),
      onDue,
      onCommit,
    });
    this.#claims = new Claims({ store, ring: this.ring, world, coalescer });
  }

  // Pushing

  push(request: PushRequest): Promise<Pushed> {
    return this.#pushes.push(request);
  }

  /** All are checked before any is sent. A unique key that another input holds is refused; the others are stored. */
  pushMany(requests: readonly PushRequest[]): Promise<readonly Pushed[]> {
    return this.#pushes.pushMany(requests);
  }

  /** Part of the caller's own transaction: the tasks exist when, and only when, the caller commits. */
  pushIn(tx: CallerTransaction, requests: readonly PushRequest[]): readonly Pushed[] {
    return this.#pushes.pushIn(tx, requests);
  }

  // Holding

  async claim(options: ClaimOptions): Promise<readonly Grant[]> {
    if (options.op !== undefined) checkKey('op', options.op);
    // Bad numbers end here: a lease until NaN would never run out.
    const leaseMs = parseDuration(options.leaseMs ?? this.leaseMs, 'leaseMs');
    const want = {
      worker: options.worker,
      max: whole('max', options.max, 0, Number.MAX_SAFE_INTEGER),
      leaseMs,
      queues: options.queues && new Set(options.queues),
      handlers: options.handlers && new Set(options.handlers),
      op: options.op,
    };
    const grants = await this.#claims.claim(want, options.waitMs ?? 0, options.signal);
    if (grants.length > 0) {
      this.onLease(leaseMs);
      this.#feed.nudge();
    }
    return grants;
  }

  /** Keeps the lease; says so when it is lost, and when the task should be stopped. */
  async renew(lease: Lease, leaseMs = this.leaseMs): Promise<RenewAnswer> {
    return this.#settles.renew(lease, parseDuration(leaseMs, 'leaseMs'));
  }

  complete(lease: HeldLease, result?: unknown): Promise<void> {
    return this.#settles.complete(lease, result);
  }

  /** The attempt failed. Resolves to what became of the task. */
  fail(lease: HeldLease, error: unknown, options: FailOptions = {}): Promise<TaskState> {
    return this.#settles.fail(lease, error, options);
  }

  /** Gives the task back, and its try with it. */
  release(lease: HeldLease, options: ReleaseOptions = {}): Promise<TaskState> {
    return this.#settles.release(lease, options);
  }

  /** The worker stopped the task because it was asked to. */
  cancelled(lease: HeldLease): Promise<void> {
    return this.#settles.cancelled(lease);
  }

  // Operating

  async cancel(task: number): Promise<CancelAnswer> {
    const [answer] = (await this.store.taskCancel({ tasks: [task] })) as [CancelAnswer];
    this.#feed.nudge();
    if (answer === 'unknown') throw fault('NOT_FOUND', { kind: 'task', id: task });
    return answer;
  }

  /** Runs a finished task again: tries start at 0, the attempt keeps growing. */
  async retry(task: number): Promise<void> {
    const [answer] = await this.store.taskRevive({ tasks: [task] });
    if (answer?.ok) {
      this.ring.mark(answer.lane);
      this.#feed.nudge();
      return;
    }
    if (answer?.state === undefined) throw fault('NOT_FOUND', { kind: 'task', id: task });
    throw fault('ILLEGAL_TRANSITION', { kind: 'task', from: answer.state, to: 'ready' });
  }

  async pause(queue: string): Promise<void> {
    this.ring.pause(checkName('queue', queue), true);
    await this.store.queuePause({ queue, paused: true });
    // Once more: a scan that read the queue before the commit may have undone it.
    this.ring.pause(queue, true);
  }

  async resume(queue: string): Promise<void> {
    await this.store.queuePause({ queue: checkName('queue', queue), paused: false });
    this.ring.pause(queue, false);
  }

  async get(task: number): Promise<TaskRecord | undefined> {
    return (await this.store.taskGet({ tasks: [task] }))[0];
  }

  list(query: TaskQuery): Promise<readonly TaskRecord[]> {
    return this.store.taskList(query);
  }

  attempts(task: number): Promise<readonly AttemptRecord[]> {
    return this.store.attemptList({ task });
  }

  async stats(queue: string): Promise<QueueStats> {
    return (await this.store.queueStats({ queue })) ?? EMPTY_STATS;
  }

  queues(): Promise<readonly QueueRecord[]> {
    return this.store.queueList();
  }

  events(options: { readonly after?: number; readonly signal?: AbortSignal } = {}): AsyncIterable<FeedItem> {
    return this.#feed.follow(options.after ?? 0, options.signal);
  }

  registerWorker(worker: {
    readonly name: string;
    readonly incarnation: string;
    readonly slots: number;
    readonly tags?: readonly string[];
  }): Promise<number> {
    return this.store.workerRegister({ ...worker, name: checkName('worker', worker.name), tags: worker.tags ?? [] });
  }

  workers(): Promise<readonly WorkerRecord[]> {
    return this.store.workerList();
  }

  // Names

  idOf(task: { readonly task: number; readonly createdAt: number }): string {
    return this.#ids.encode('task_', task.task, task.createdAt);
  }

  /** The internal number of a public id; refused when it was not made by this cluster. */
  parseId(id: string): number {
    const decoded = this.#ids.decode('task_', id);
    if (decoded === undefined) throw fault('INVALID_ID', { kind: 'task', id });
    return decoded.id;
  }

  /** Somebody in this process waits for work or for events, so that news of other processes are wanted. */
  get waiting(): boolean {
    return this.ring.signs.awaited || this.#feed.awaited;
  }

  /** Others may have changed anything: claimers and readers look again. */
  hint(): void {
    this.ring.hint();
    this.#feed.nudge();
  }
}
