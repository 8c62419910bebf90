import { fault } from '../core/errors.ts';
import { EMPTY_STATS, type QueueStats } from '../core/event.ts';
import { type IdCodec, makeIdCodec } from '../core/ids.ts';
import { afterFailure, afterRelease, DEFAULT_LEASE_MS, type Lease, MAX_BOUNCES } from '../core/lease.ts';
import { checkKey, checkName } from '../core/names.ts';
import { encodePayload } from '../core/payload.ts';
import type { FinalState, Reason, TaskState } from '../core/task.ts';
import type { World } from '../core/world.ts';
import type {
  AttemptRecord,
  CallerTransaction,
  CancelAnswer,
  Grant,
  NewTask,
  PushAnswer,
  QueueRecord,
  RenewAnswer,
  RenewItem,
  ReturnItem,
  SettleAnswer,
  SettleItem,
  Store,
  TaskQuery,
  TaskRecord,
  WorkerRecord,
} from '../store/store.ts';
import { Claims } from './claim.ts';
import { Coalescer, type Kind } from './coalescer.ts';
import { Feed, type FeedItem } from './feed.ts';
import { Interner } from './interner.ts';
import { type Draft, draft, type PushRequest, readSpec } from './push.ts';
import { Ring } from './ring.ts';

export interface EngineOptions {
  readonly store: Store;
  readonly world: World;
  readonly leaseMs?: number;
  /** How long finished tasks, events and keys are kept. */
  readonly retentionMs?: number;
}

export const DEFAULT_RETENTION_MS = 7 * 24 * 3_600_000;

export interface Pushed {
  readonly task: number;
  readonly id: string;
  readonly createdAt: number;
  readonly state: TaskState;
  /** False when the unique key or the operation id led to a task that was there before. */
  readonly fresh: boolean;
}

export interface ClaimOptions {
  readonly worker: number;
  readonly max: number;
  readonly queues?: readonly string[];
  readonly handlers?: readonly string[];
  readonly leaseMs?: number;
  /** Wait this long for the first task; default: answer at once. */
  readonly waitMs?: number;
  readonly signal?: AbortSignal;
  readonly op?: string;
}

/** A lease as a caller may hold it: what the grant told beyond (task, attempt) saves a read and decides nothing. */
export type HeldLease = Lease & Partial<Omit<Grant, keyof Lease>>;

export interface FailOptions {
  /** No retry, whatever the budget says. */
  readonly giveUp?: boolean;
  /** Come back this much later; the try is given back (a 429, for instance). */
  readonly retryAfterMs?: number;
}

export interface ReleaseOptions {
  /** The task was claimed in order to run it, and never started. Twenty in a row end it as undeliverable. */
  readonly bounced?: boolean;
  readonly delayMs?: number;
}

/** Durable, fenced, leased tasks on any store. Every process has its own; none needs another one to be right. */
export class Engine {
  readonly store: Store;
  readonly world: World;
  readonly leaseMs: number;
  readonly retentionMs: number;
  readonly ring: Ring;
  readonly #interner: Interner;
  readonly #ids: IdCodec;
  readonly #claims: Claims;
  readonly #feed: Feed;
  readonly #push: Kind<NewTask, PushAnswer>;
  readonly #settle: Kind<SettleItem, SettleAnswer>;
  readonly #return: Kind<ReturnItem, SettleAnswer>;
  readonly #renew: Kind<RenewItem, RenewAnswer>;
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
    this.#interner = new Interner(store, (lane) => this.ring.learn(lane));
    this.#ids = makeIdCodec(store.clusterKey);
    this.#feed = new Feed(store, world);
    const coalescer = new Coalescer(world);
    this.#settle = coalescer.kind({
      name: 'settle',
      maxItems: 250,
      maxInFlight: 2,
      send: (items) => store.taskSettle({ items }),
    });
    this.#return = coalescer.kind({
      name: 'return',
      maxItems: 250,
      maxInFlight: 2,
      send: (items) => store.taskReturn({ items }),
    });
    this.#renew = coalescer.kind({
      name: 'renew',
      maxItems: 500,
      maxInFlight: 1,
      send: (items) => store.leaseRenew({ items }),
    });
    this.#push = coalescer.kind({
      name: 'push',
      maxItems: 1000,
      maxInFlight: 2,
      send: (items) => this.#sendPushes(items),
    });
    this.#claims = new Claims({ store, ring: this.ring, world, coalescer });
  }

  // Pushing

  push(request: PushRequest): Promise<Pushed> {
    const checked = this.#draft(request);
    if (checked instanceof Error) return Promise.reject(checked);
    const lane = this.#interner.knownLane(checked);
    const spec = this.#interner.knownSpec(checked.specBody);
    const answer =
      lane !== undefined && spec !== undefined
        ? this.#push.submit({ ...checked.task, lane, spec })
        : this.#place(checked).then((task) => this.#push.submit(task));
    return answer.then((pushed) => this.#pushed(checked, pushed));
  }

  /** All are checked before any is sent; they share their flushes. */
  async pushMany(requests: readonly PushRequest[]): Promise<readonly Pushed[]> {
    const drafts = requests.map((request) => draft(request, this.retentionMs));
    const tasks: NewTask[] = [];
    for (const checked of drafts) {
      const lane = this.#interner.knownLane(checked) ?? (await this.#interner.lane(checked));
      const spec = this.#interner.knownSpec(checked.specBody) ?? (await this.#interner.spec(checked.specBody));
      tasks.push({ ...checked.task, lane, spec });
    }
    const answers = await this.#push.submitMany(tasks);
    return answers.map((answer, i) => this.#pushed(drafts[i] as Draft, answer));
  }

  /** Part of the caller's own transaction: the tasks exist when, and only when, the caller commits. */
  pushIn(tx: CallerTransaction, requests: readonly PushRequest[]): readonly Pushed[] {
    if (!this.store.capabilities.callerTransactions) {
      throw fault('INVALID_INPUT', {
        field: 'tx',
        problem: `a ${this.store.capabilities.name} store has no such thing`,
      });
    }
    const drafts = requests.map((request) => draft(request, this.retentionMs));
    const items = drafts.map(({ queue, handler, specBody, task }) => ({ ...task, queue, handler, specBody }));
    return this.store.taskPushIn({ tx, items }).map((answer, i) => this.#pushed(drafts[i] as Draft, answer));
  }

  // Holding

  async claim(options: ClaimOptions): Promise<readonly Grant[]> {
    if (options.op !== undefined) checkKey('op', options.op);
    const leaseMs = options.leaseMs ?? this.leaseMs;
    const grants = await this.#claims.claim(
      {
        worker: options.worker,
        max: options.max,
        leaseMs,
        queues: options.queues && new Set(options.queues),
        handlers: options.handlers && new Set(options.handlers),
        op: options.op,
      },
      options.waitMs ?? 0,
      options.signal,
    );
    if (grants.length > 0) {
      this.onLease(leaseMs);
      this.#feed.nudge();
    }
    return grants;
  }

  renew(lease: Lease, leaseMs = this.leaseMs): Promise<RenewAnswer> {
    return this.#renew.submit({ task: lease.task, attempt: lease.attempt, ttlMs: leaseMs });
  }

  async complete(lease: HeldLease, result?: unknown): Promise<void> {
    await this.#end(lease, 'completed', 'none', result === undefined ? undefined : encodePayload(result));
  }

  /** The attempt failed. Resolves to what became of the task. */
  async fail(lease: HeldLease, error: unknown, options: FailOptions = {}): Promise<TaskState> {
    const text = encodePayload(describe(error));
    if (options.retryAfterMs !== undefined) {
      return this.#giveBack(lease, {
        change: 'retried',
        delayMs: options.retryAfterMs,
        refund: true,
        bounced: false,
        error: text,
      });
    }
    const held = await this.#known(lease);
    const verdict = options.giveUp
      ? ({ to: 'failed', reason: 'gave_up' } as const)
      : afterFailure(held, readSpec(await this.#interner.specBody(held.spec)).retry, this.world.random());
    if (verdict.to === 'again') {
      return this.#giveBack(lease, {
        change: 'retried',
        delayMs: verdict.delayMs,
        refund: false,
        bounced: false,
        error: text,
      });
    }
    await this.#end(lease, verdict.to, verdict.reason, text);
    return verdict.to;
  }

  /** Gives the task back, and its try with it. */
  async release(lease: HeldLease, options: ReleaseOptions = {}): Promise<TaskState> {
    const bounced = options.bounced ?? false;
    const bounces = bounced ? (await this.#known(lease)).bounces : 0;
    const verdict = afterRelease(bounces, bounced, options.delayMs ?? 0);
    if (verdict.to === 'again') {
      return this.#giveBack(lease, { change: 'released', delayMs: verdict.delayMs, refund: true, bounced });
    }
    const result = encodePayload({ message: `given back ${MAX_BOUNCES} times without being started` });
    await this.#end(lease, verdict.to, verdict.reason, result);
    return verdict.to;
  }

  /** The worker stopped the task because it was asked to. */
  cancelled(lease: HeldLease): Promise<void> {
    return this.#end(lease, 'cancelled', 'requested', undefined);
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
    name: string;
    incarnation: string;
    slots: number;
    tags?: readonly string[];
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

  interner(): Interner {
    return this.#interner;
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

  #draft(request: PushRequest): Draft | Error {
    try {
      return draft(request, this.retentionMs);
    } catch (error) {
      return error as Error;
    }
  }

  async #place(checked: Draft): Promise<NewTask> {
    const lane = await this.#interner.lane(checked);
    return { ...checked.task, lane, spec: await this.#interner.spec(checked.specBody) };
  }

  async #sendPushes(items: readonly NewTask[]): Promise<readonly PushAnswer[]> {
    const answers = await this.store.taskPush({ items });
    const lanes = new Set<number>();
    for (const [i, answer] of answers.entries()) {
      const item = items[i] as NewTask;
      if (!answer.ok || !answer.fresh) continue;
      if (answer.state === 'ready') lanes.add(item.lane);
      else this.onDue(item.delayMs ?? (item.runAt ?? 0) - answer.createdAt);
    }
    for (const lane of lanes) this.ring.mark(lane);
    this.#feed.nudge();
    return answers;
  }

  #pushed(checked: Draft, answer: PushAnswer): Pushed {
    if (!answer.ok) {
      throw fault('UNIQUE_CONFLICT', { key: checked.task.unique?.key, queue: checked.queue, task: answer.conflict });
    }
    const { task, createdAt, state, fresh } = answer;
    return { task, id: this.#ids.encode('task_', task, createdAt), createdAt, state, fresh };
  }

  async #end(lease: HeldLease, to: FinalState, reason: Reason, result: string | undefined): Promise<void> {
    const { task, attempt, lane, createdAt } = lease;
    const hint = lane === undefined || createdAt === undefined ? undefined : { lane, createdAt };
    const answer = await this.#settle.submit({ task, attempt, to, reason, result, hint });
    this.#feed.nudge();
    if (answer === 'lost') throw leaseLost(lease);
  }

  async #giveBack(lease: HeldLease, item: Omit<ReturnItem, keyof Lease>): Promise<TaskState> {
    const answer = await this.#return.submit({ task: lease.task, attempt: lease.attempt, ...item });
    if (answer === 'lost') throw leaseLost(lease);
    this.#feed.nudge();
    if (answer === 'cancelled') return 'cancelled';
    if (item.delayMs > 0) this.onDue(item.delayMs);
    else if (lease.lane !== undefined) this.ring.mark(lease.lane);
    else this.ring.hint();
    return item.delayMs > 0 ? 'scheduled' : 'ready';
  }

  /** The budget and policy of the task, from the grant or else from its row. */
  async #known(lease: HeldLease): Promise<{ tries: number; maxTries: number; bounces: number; spec: number }> {
    const { tries, maxTries, bounces, spec } = lease;
    if (tries !== undefined && maxTries !== undefined && bounces !== undefined && spec !== undefined) {
      return { tries, maxTries, bounces, spec };
    }
    const record = await this.get(lease.task);
    if (record === undefined) throw leaseLost(lease);
    return record;
  }
}

function leaseLost(lease: Lease): Error {
  return fault('LEASE_LOST', { task: lease.task, attempt: lease.attempt });
}

function describe(error: unknown): unknown {
  if (error instanceof Error) return { name: error.name, message: error.message, stack: error.stack };
  return error;
}
