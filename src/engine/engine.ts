import type { Duration } from '../core/duration.ts';
import { fault } from '../core/errors.ts';
import { EMPTY_STATS, type QueueStats } from '../core/event.ts';
import { type IdCodec, MAX_ID, makeIdCodec } from '../core/ids.ts';
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
import {
  checkLeaseMs,
  checkList,
  checkMax,
  checkNames,
  checkNewWorker,
  checkOptions,
  checkQuery,
  checkRetentionMs,
  checkSignal,
  checkTask,
  checkWaitMs,
  checkWorker,
  whole,
} from './check.ts';
import { Claims } from './claim.ts';
import { Coalescer } from './coalescer.ts';
import { Feed, type FeedItem } from './feed.ts';
import { Interner } from './interner.ts';
import type { PushRequest } from './push.ts';
import { type Pushed, Pushes } from './pushes.ts';
import { Ring } from './ring.ts';
import { type FailOptions, type HeldLease, type ReleaseOptions, Settles } from './settles.ts';

export interface EngineOptions {
  readonly store: Store;
  readonly world: World;
  /** How long a claim holds without being renewed, from 10 ms to 24 h; default 30 s. */
  readonly leaseMs?: Duration;
  /** How long finished tasks, events and keys are kept, at least 1 s; default 7 days. */
  readonly retentionMs?: Duration;
}

export const DEFAULT_RETENTION_MS = 7 * 24 * 3_600_000;

export interface ClaimOptions {
  /** The worker incarnation that will hold the leases, from `registerWorker`. */
  readonly worker: number;
  /** From 1 to 1000. */
  readonly max: number;
  readonly queues?: readonly string[];
  readonly handlers?: readonly string[];
  /** From 10 ms to 24 h. */
  readonly leaseMs?: Duration;
  /** Wait this long for the first task; default: answer at once. */
  readonly waitMs?: number;
  readonly signal?: AbortSignal;
  /** Operation id: repeating the call with it gives the grants of the first one, as far as they still hold. */
  readonly op?: string;
}

const OPTIONS: ReadonlySet<string> = new Set([
  'store',
  'world',
  'leaseMs',
  'retentionMs',
] satisfies (keyof EngineOptions)[]);
const CLAIM: ReadonlySet<string> = new Set([
  'worker',
  'max',
  'queues',
  'handlers',
  'leaseMs',
  'waitMs',
  'signal',
  'op',
] satisfies (keyof ClaimOptions)[]);
const EVENTS: ReadonlySet<string> = new Set(['after', 'signal']);

/**
 * Durable, fenced, leased tasks on any store. Every process has its own; none needs another one to be right.
 *
 * Bad arguments are refused with `INVALID_INPUT` or `UNKNOWN_OPTION` before anything is changed, by a rejected promise
 * wherever a promise is the answer.
 */
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
    checkOptions('engine options', options, OPTIONS);
    const { store, world } = options;
    this.store = store;
    this.world = world;
    this.leaseMs = checkLeaseMs(options.leaseMs ?? DEFAULT_LEASE_MS);
    this.retentionMs = checkRetentionMs(options.retentionMs ?? DEFAULT_RETENTION_MS);
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
  async pushMany(requests: readonly PushRequest[]): Promise<readonly Pushed[]> {
    checkList('requests', requests);
    return this.#pushes.pushMany(requests);
  }

  /** Part of the caller's own transaction: the tasks exist when, and only when, the caller commits. */
  pushIn(tx: CallerTransaction, requests: readonly PushRequest[]): readonly Pushed[] {
    checkList('requests', requests);
    return this.#pushes.pushIn(tx, requests);
  }

  // Holding

  async claim(options: ClaimOptions): Promise<readonly Grant[]> {
    checkOptions('options', options, CLAIM);
    checkSignal(options.signal);
    // Bad numbers end here: a lease until NaN would never run out.
    const leaseMs = checkLeaseMs(options.leaseMs ?? this.leaseMs);
    const waitMs = checkWaitMs(options.waitMs ?? 0);
    const want = {
      worker: checkWorker(options.worker),
      max: checkMax(options.max),
      leaseMs,
      queues: checkNames('queues', 'queue', options.queues),
      handlers: checkNames('handlers', 'handler', options.handlers),
      op: options.op === undefined ? undefined : checkKey('op', options.op),
    };
    const grants = await this.#claims.claim(want, waitMs, options.signal);
    if (grants.length > 0) {
      this.onLease(leaseMs);
      this.#feed.nudge();
    }
    return grants;
  }

  /** Keeps the lease; says so when it is lost, and when the task should be stopped. */
  async renew(lease: Lease, leaseMs: Duration = this.leaseMs): Promise<RenewAnswer> {
    return this.#settles.renew(lease, checkLeaseMs(leaseMs));
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
    checkTask(task);
    const [answer] = (await this.store.taskCancel({ tasks: [task] })) as [CancelAnswer];
    this.#feed.nudge();
    if (answer === 'unknown') throw fault('NOT_FOUND', { kind: 'task', id: task });
    return answer;
  }

  /** Runs a finished task again: tries start at 0, the attempt keeps growing. */
  async retry(task: number): Promise<void> {
    checkTask(task);
    const [answer] = await this.store.taskRevive({ tasks: [task] });
    if (answer?.ok) {
      this.ring.mark(answer.lane);
      this.#feed.nudge();
      return;
    }
    if (answer?.state === undefined) throw fault('NOT_FOUND', { kind: 'task', id: task });
    throw fault('ILLEGAL_TRANSITION', { kind: 'task', from: answer.state, to: 'ready' });
  }

  /** Nobody claims from it until it is resumed. A queue that does not exist yet is made, so that it can begin paused. */
  async pause(queue: string): Promise<void> {
    this.ring.pause(checkName('queue', queue), true);
    await this.store.queuePause({ queue, paused: true });
    // Once more: a scan that read the queue before the commit may have undone it.
    this.ring.pause(queue, true);
  }

  /** Resuming a queue that does not exist changes nothing. */
  async resume(queue: string): Promise<void> {
    const known = await this.store.queueStats({ queue: checkName('queue', queue) });
    if (known !== undefined) await this.store.queuePause({ queue, paused: false });
    this.ring.pause(queue, false);
  }

  async get(task: number): Promise<TaskRecord | undefined> {
    checkTask(task);
    return (await this.store.taskGet({ tasks: [task] }))[0];
  }

  async list(query: TaskQuery): Promise<readonly TaskRecord[]> {
    checkQuery(query);
    return this.store.taskList(query);
  }

  async attempts(task: number): Promise<readonly AttemptRecord[]> {
    checkTask(task);
    return this.store.attemptList({ task });
  }

  async stats(queue: string): Promise<QueueStats> {
    return (await this.store.queueStats({ queue: checkName('queue', queue) })) ?? EMPTY_STATS;
  }

  queues(): Promise<readonly QueueRecord[]> {
    return this.store.queueList();
  }

  async *events(options: { readonly after?: number; readonly signal?: AbortSignal } = {}): AsyncIterable<FeedItem> {
    checkOptions('options', options, EVENTS);
    checkSignal(options.signal);
    yield* this.#feed.follow(whole('after', options.after ?? 0, 0, Number.MAX_SAFE_INTEGER), options.signal);
  }

  async registerWorker(worker: {
    readonly name: string;
    readonly incarnation: string;
    readonly slots: number;
    readonly tags?: readonly string[];
  }): Promise<number> {
    return this.store.workerRegister(checkNewWorker(worker));
  }

  workers(): Promise<readonly WorkerRecord[]> {
    return this.store.workerList();
  }

  // Names

  idOf(task: { readonly task: number; readonly createdAt: number }): string {
    checkTask(task?.task);
    return this.#ids.encode('task_', task.task, whole('createdAt', task.createdAt, 0, MAX_ID));
  }

  /** The internal number of a public id; refused when it was not made by this cluster. */
  parseId(id: string): number {
    const decoded = typeof id === 'string' ? this.#ids.decode('task_', id) : undefined;
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
