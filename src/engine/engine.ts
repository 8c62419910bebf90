import type { Duration } from '../core/duration.ts';
import { fault } from '../core/errors.ts';
import { type IdCodec, MAX_ID, makeIdCodec } from '../core/ids.ts';
import { type CounterUse, type LimitInput, normalizeLimit } from '../core/limits/limit.ts';
import { checkKey, checkName } from '../core/names.ts';
import { DEFAULT_STALE_MS, type HandlerSchema } from '../core/placement/worker.ts';
import { EMPTY_STATS, type QueueStats } from '../core/task/event.ts';
import { DEFAULT_LEASE_MS, type Lease } from '../core/task/lease.ts';
import type { LogEntry } from '../core/task/log.ts';
import type { TaskState } from '../core/task/task.ts';
import type { World } from '../core/world.ts';
import type {
  AttemptRecord,
  CallerTransaction,
  CancelAnswer,
  CounterRecord,
  Dependency,
  Grant,
  JournalEntry,
  KeptResult,
  LimitChange,
  LimitEdited,
  LimitEditing,
  LimitRecord,
  LogLine,
  LogPlace,
  NewWorker,
  QueueRecord,
  QueueStore,
  RenewAnswer,
  SignalAnswer,
  Store,
  TaskQuery,
  TaskRecord,
  WaitRecord,
  WorkerBeat,
  WorkerRecord,
  WorkerSetting,
} from '../store/store.ts';
import {
  type Beat,
  checkBeat,
  checkIntervalMs,
  checkLeaseMs,
  checkLimit,
  checkList,
  checkLogPlace,
  checkMax,
  checkNames,
  checkNewWorker,
  checkOptions,
  checkQuery,
  checkRetentionMs,
  checkSchemas,
  checkSignal,
  checkStaleMs,
  checkTask,
  checkWaitMs,
  checkWorker,
  checkWorkerSetting,
  whole,
} from './check.ts';
import { type Acquired, memberOf, refusalOf } from './claim/acquire.ts';
import { Claims } from './claim/claims.ts';
import { executable } from './claim/executable.ts';
import { ReadyLanes, SCAN_MS } from './claim/ready-lanes.ts';
import { WorkerProfiles } from './claim/worker-profiles.ts';
import { type Batcher, Coalescer } from './coalescer.ts';
import { wholeStore } from './plain-queue.ts';
import { type GraphRequest, Graphs } from './push/graphs.ts';
import { Interner } from './push/interner.ts';
import type { PushRequest } from './push/push.ts';
import { type Pushed, Pushes } from './push/pushes.ts';
import { type Explanation, explain } from './read/explain.ts';
import { gatherFacts } from './read/facts.ts';
import { Feed, type FeedItem } from './read/feed.ts';
import { Results } from './read/results.ts';
import { oldestByQueue, type QueueScale, queueScale } from './read/scale.ts';
import { KeptResults, type ReusingLease } from './settle/kept-results.ts';
import { type FailOptions, type HeldLease, type ReleaseOptions, Settles } from './settle/settles.ts';
import { TaskLogs } from './settle/task-logs.ts';
import type { TurnRequest } from './settle/turn-request.ts';
import { type Turned, Turns } from './settle/turns.ts';
import { type SignalOptions, Waits } from './settle/waits.ts';
import { Documents } from './trees/documents.ts';
import { InputGatherer } from './trees/input-gatherer.ts';
import { Spawns } from './trees/spawns.ts';
import {
  type CancelAct,
  type RetryAct,
  Subtrees,
  type TreeAnswer,
  type TreeMember,
  type TreeOptions,
} from './trees/subtrees.ts';

export interface EngineOptions {
  /** The whole port, or only what a plain queue needs: the rest is refused with `UNSUPPORTED` then. */
  readonly store: QueueStore;
  readonly world: World;
  /** How long a claim holds without being renewed, from 10 ms to 24 h; default 30 s. */
  readonly leaseMs?: Duration;
  /** How long finished tasks, events and keys are kept, at least 1 s; default 7 days. */
  readonly retentionMs?: Duration;
  /** How long a worker may be silent before it counts as lost, from 10 ms to 24 h; default 30 s. */
  readonly workerStaleMs?: Duration;
  /** How often a waiting claim looks for work that no hint told of, from 10 ms to 1 h; default 1 s. */
  readonly pollMs?: Duration;
  /** How often at least the reaper looks for leases that ran out, from 10 ms to 1 h; default 1 s. */
  readonly cleanupMs?: Duration;
}

const DEFAULT_CLEANUP_MS = 1000;
export const DEFAULT_RETENTION_MS = 7 * 24 * 3_600_000;

export interface ClaimOptions {
  /** The worker incarnation that will hold the leases, from `registerWorker`. */
  readonly worker: number;
  /** From 1 to 1000. */
  readonly max: number;
  readonly queues?: readonly string[];
  readonly handlers?: readonly string[];
  /** This very task, if it is ready and its queue is not paused; without `queues`, `handlers` and `waitMs`. */
  readonly task?: number;
  /** From 10 ms to 24 h. */
  readonly leaseMs?: Duration;
  /** Wait this long for the first task; default: answer at once. */
  readonly waitMs?: number;
  readonly signal?: AbortSignal;
  /** Operation id: repeating the call with it gives the grants of the first one, as far as they still hold. */
  readonly op?: string;
  /** The number of the secret that the worker came in by: nothing is granted once it has ended. */
  readonly token?: number;
}

const OPTIONS: ReadonlySet<string> = new Set([
  'store',
  'world',
  'leaseMs',
  'retentionMs',
  'workerStaleMs',
  'pollMs',
  'cleanupMs',
] satisfies (keyof EngineOptions)[]);
const CLAIM: ReadonlySet<string> = new Set([
  'worker',
  'max',
  'queues',
  'handlers',
  'task',
  'leaseMs',
  'waitMs',
  'signal',
  'op',
  'token',
] satisfies (keyof ClaimOptions)[]);
const EVENTS: ReadonlySet<string> = new Set(['after', 'signal']);
const READ_LOG: ReadonlySet<string> = new Set(['after', 'limit']);
const FOLLOW_LOG: ReadonlySet<string> = new Set(['after', 'signal']);

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
  readonly workerStaleMs: number;
  readonly cleanupMs: number;
  readonly readyLanes: ReadyLanes;
  readonly profiles: WorkerProfiles;
  readonly interner: Interner;
  readonly #ids: IdCodec;
  readonly #pushes: Pushes;
  readonly #graphs: Graphs;
  readonly #gatherer: InputGatherer;
  /** Trees of tasks that are written down, and run when somebody says so. */
  readonly documents: Documents;
  readonly #subtrees: Subtrees;
  readonly #waits: Waits;
  readonly #kept: KeptResults;
  readonly #claims: Claims;
  readonly #turns: Turns;
  readonly #settles: Settles;
  readonly #feed: Feed;
  readonly #results: Results;
  readonly #logs: TaskLogs;
  readonly #beats: Batcher<WorkerBeat, boolean>;
  readonly #cancelListeners = new Set<(task: number) => void>();
  /** Tells the duties of this process what will be due when; a hint, like every wake-up. */
  onDue: (inMs: number) => void = () => {};
  onLease: (inMs: number) => void = () => {};
  /** How long the store took to answer; for figures. */
  onTimed: (verb: 'claim' | 'renew', ms: number) => void = () => {};
  /** Something was committed by this process: there are events to number, where that is a duty. */
  onCommit: () => void = () => {};

  constructor(options: EngineOptions) {
    checkOptions('engine options', options, OPTIONS);
    const { world } = options;
    const store = wholeStore(options.store);
    this.store = store;
    this.world = world;
    this.leaseMs = checkLeaseMs(options.leaseMs ?? DEFAULT_LEASE_MS);
    this.retentionMs = checkRetentionMs(options.retentionMs ?? DEFAULT_RETENTION_MS);
    this.workerStaleMs = checkStaleMs(options.workerStaleMs ?? DEFAULT_STALE_MS);
    this.cleanupMs = checkIntervalMs('cleanupMs', options.cleanupMs ?? DEFAULT_CLEANUP_MS);
    this.readyLanes = new ReadyLanes(store, world, checkIntervalMs('pollMs', options.pollMs ?? SCAN_MS));
    this.interner = new Interner(store, (lane) => this.readyLanes.learn(lane));
    this.#ids = makeIdCodec(store.clusterKey);
    this.#feed = new Feed(store, world);
    this.#results = new Results(store, this.#feed);
    const { interner } = this;
    const coalescer = new Coalescer(world);
    const onDue = (inMs: number): void => this.onDue(inMs);
    const onCommit = (): void => this.#committed();
    const onReady = (lane: number | undefined, priority: number | undefined): void =>
      lane === undefined ? this.readyLanes.hint() : this.readyLanes.mark(lane, priority);
    // What an attempt said leaves before its settle, after which it could say nothing more.
    this.#logs = new TaskLogs({ store, coalescer, world });
    // What frees leaves before what takes, so that a settle and the next claim can share a commit.
    this.#settles = new Settles({
      store,
      renew: (items) => this.#timed('renew', () => store.leaseRenew({ items })),
      coalescer,
      interner,
      random: world.random,
      onReady,
      onFreeing: (lane) => this.readyLanes.freeing(this.#usesOf(lane)),
      onFreed: (lane) => this.#freed(lane),
      onDue,
      onCommit: (task) => {
        onCommit();
        this.#logs.nudge(task);
      },
    });
    this.#pushes = new Pushes({
      store,
      coalescer,
      interner,
      ids: this.#ids,
      maxUniqueMs: this.retentionMs,
      onComing: (lane, priority) => this.readyLanes.expect(lane, priority),
      onReady: (lane, priority) => this.readyLanes.mark(lane, priority),
      onDue,
      onCommit,
    });
    this.#graphs = new Graphs({ store, tasks: this.#pushes });
    this.documents = new Documents({ store, graphs: this.#graphs });
    this.#gatherer = new InputGatherer({
      store,
      interner,
      refuse: async (grant, error) => void (await this.fail(grant, error, { giveUp: true })),
    });
    this.#subtrees = new Subtrees({
      store,
      idOf: (task) => this.idOf(task),
      onCancelled: (task, answer) => {
        this.#logs.nudge(task);
        if (answer === 'requested') this.#tellCancel(task);
      },
      onRevived: (lane) => this.readyLanes.mark(lane),
      onCommit: () => this.#committed(),
    });
    const onEnded = (task: number): void => {
      onCommit();
      this.#logs.nudge(task);
    };
    const onWoken = (): void => this.readyLanes.hint();
    this.#waits = new Waits({ store, coalescer, onWoken, onCommit: onEnded });
    this.#turns = new Turns({
      store,
      coalescer,
      tasks: this.#pushes,
      spawns: new Spawns({ store, interner, tasks: this.#pushes }),
      settles: this.#settles,
      onDue,
      onWoken,
      onReady,
      onFreed: (lane) => this.#freed(lane),
      onCommit: onEnded,
    });
    this.#kept = new KeptResults({ store, coalescer, interner });
    this.profiles = new WorkerProfiles(store, world, this.workerStaleMs);
    this.#claims = new Claims({
      store: { taskClaim: (params) => this.#timed('claim', () => store.taskClaim(params)) },
      readyLanes: this.readyLanes,
      profiles: this.profiles,
      world,
      coalescer,
    });
    this.#beats = coalescer.batcher({
      name: 'beat',
      maxItems: 500,
      maxInFlight: 1,
      send: (beats) => store.workerBeat({ beats }),
    });
  }

  // Pushing

  push(request: PushRequest): Promise<Pushed> {
    if (this.world.tracing !== undefined) return this.#traced([request], async () => this.#pushes.push(request));
    return this.#pushes.push(request);
  }

  /** All are checked before any is sent. A unique key that another input holds is refused; the others are stored. */
  async pushMany(requests: readonly PushRequest[]): Promise<readonly Pushed[]> {
    checkList('requests', requests);
    return this.#traced(requests, () => this.#pushes.pushMany(requests));
  }

  /**
   * Part of the caller's own transaction: the tasks exist when, and only when, the caller commits. On SQLite the work is
   * done when the call returns, so that a transaction which cannot wait may commit at once; a refusal is told by the promise.
   */
  async pushIn(tx: CallerTransaction, requests: readonly PushRequest[]): Promise<readonly Pushed[]> {
    checkList('requests', requests);
    return this.#pushes.pushIn(tx, requests);
  }

  /** Tasks that wait for each other, all or nothing; circles and unknown names are refused. */
  pushGraph(requests: readonly GraphRequest[]): Promise<readonly Pushed[]> {
    return this.#traced(requests, () => this.#graphs.push(requests));
  }

  /** One that was there before has been traced by whoever pushed it. */
  async #traced<T extends Pushed | readonly Pushed[]>(
    requests: readonly { readonly queue: string; readonly handler: string }[],
    push: () => Promise<T>,
  ): Promise<T> {
    const told = this.world.tracing?.pushing();
    const answer = await push();
    if (told === undefined) return answer;
    const all: readonly Pushed[] = Array.isArray(answer) ? answer : [answer as Pushed];
    told(
      all.flatMap(({ id, fresh }, i) => {
        const { queue, handler } = requests[i] ?? { queue: '', handler: '' };
        return fresh ? [{ id, queue, handler }] : [];
      }),
    );
    return answer;
  }

  // Holding

  async claim(options: ClaimOptions): Promise<readonly Grant[]> {
    checkOptions('options', options, CLAIM);
    checkSignal(options.signal);
    // Bad numbers end here: a lease until NaN would never run out.
    const leaseMs = checkLeaseMs(options.leaseMs ?? this.leaseMs);
    const waitMs = checkWaitMs(options.waitMs ?? 0);
    const request = {
      worker: checkWorker(options.worker),
      max: checkMax(options.max),
      leaseMs,
      queues: checkNames('queues', 'queue', options.queues),
      handlers: checkNames('handlers', 'handler', options.handlers),
      op: options.op === undefined ? undefined : checkKey('op', options.op),
      token: options.token === undefined ? undefined : whole('token', options.token, 1, Number.MAX_SAFE_INTEGER),
    };
    const { task } = options;
    if (task !== undefined) checkTaskClaim(options);
    const grants =
      task === undefined
        ? await this.#claims.claim(request, waitMs, options.signal)
        : await this.#claims.claimTask({ ...request, task });
    return this.#granted(grants, leaseMs);
  }

  /**
   * This very task, if it is ready and placement, limits and its own bounds let this worker have it; says why not. `token`: the number
   * of the secret that asks; one that has ended gets nothing.
   */
  async acquire(
    task: number,
    worker: number,
    { token }: { readonly token?: number | undefined } = {},
  ): Promise<Acquired> {
    checkWorker(worker);
    const record = await this.get(task);
    if (record === undefined) return { ok: false, why: 'gone', reasons: ['it is not there'] };
    const member = await memberOf(this.store, worker);
    if (member === undefined) return { ok: false, why: 'lost', reasons: ['the worker is not there'] };
    const facts = await gatherFacts(this, record);
    const refused = refusalOf(facts, member);
    if (refused !== undefined) return refused;
    const maxHeld = facts.lane.rules?.placement.maxPerWorker;
    const request = { worker, task, leaseMs: this.leaseMs, op: undefined, token, revision: member.revision, maxHeld };
    const [grant] = await this.#granted(await this.#claims.claimTask(request), this.leaseMs);
    return grant === undefined
      ? { ok: false, why: 'taken', reasons: ['another one was faster, or the worker is no longer as it was'] }
      : { ok: true, grant };
  }

  /** Ready tasks that this worker could be granted now, in the order of a claim. Reads only. */
  async executable(worker: number, limit = 10): Promise<readonly TaskRecord[]> {
    const member = await memberOf(this.store, checkWorker(worker));
    if (member === undefined) throw fault('NOT_FOUND', { kind: 'worker', id: worker });
    return executable(this.store, member, checkLimit(limit));
  }

  /** Not a promise for most claims: what waits for one starts later by a turn. */
  #granted(grants: readonly Grant[], leaseMs: number): readonly Grant[] | Promise<readonly Grant[]> {
    if (grants.length === 0) return grants;
    this.onLease(leaseMs);
    this.#committed();
    return (
      this.#gatherer.complete(grants)?.catch(async (error: unknown) => {
        // They are granted, and nobody would hear of it: their leases would run out and cost them a try.
        await Promise.allSettled(grants.map((grant) => this.release(grant)));
        throw error;
      }) ?? grants
    );
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

  /** Leases of this worker that somebody has asked to stop. */
  async cancelRequests(worker: number): Promise<readonly Lease[]> {
    return this.store.leaseCancels({ holder: checkWorker(worker) });
  }

  /**
   * Adds lines to the log of a running attempt; a line that is there already stays as it is. Texts have at most 64 KiB;
   * what no store can keep in them is replaced.
   */
  async appendLog(lease: Lease, entries: readonly LogEntry[]): Promise<void> {
    await this.#logs.append(lease, entries);
  }

  /**
   * Commits a turn of an attempt: what it remembers, the children that it bears, signals and lines, and how it goes on; all
   * of it or nothing. Children lie no deeper than 32, and a task has no more than 10,000.
   */
  turn(lease: HeldLease, request: TurnRequest): Promise<Turned> {
    return this.#turns.turn(lease, request);
  }

  /** What the attempts of a task have written, in the order of their times. */
  async journal(task: number): Promise<readonly JournalEntry[]> {
    checkTask(task);
    return this.store.journalList({ task });
  }

  /** What a task waits for now, or waited for last. */
  waitOf(task: number): Promise<WaitRecord | undefined> {
    return this.#waits.wait(task);
  }

  /** Waits that somebody is asked to decide, oldest first. */
  openWaits(limit = 100): Promise<readonly WaitRecord[]> {
    return this.#waits.open(limit);
  }

  /** Wakes the task that has waited longest on the channel, or is kept until one comes. */
  signal(channel: string, body: unknown, options: SignalOptions = {}): Promise<SignalAnswer> {
    return this.#waits.signal(channel, body, options);
  }

  /** The result of a task like this one, if it was pushed to take one and there is one. Who has it need not run. */
  keptResult(lease: ReusingLease): Promise<KeptResult | undefined> {
    return this.#kept.find(lease);
  }

  /** Keeps what a task has come to for others like it, under the fence; before it is completed, so that no crash loses it. */
  keepResult(lease: ReusingLease, result: unknown): Promise<void> {
    return this.#kept.keep(lease, result);
  }

  /** What a task waits for, or has waited for, with the results of what has ended. */
  async dependencies(task: number): Promise<readonly Dependency[]> {
    checkTask(task);
    return this.store.depList({ task });
  }

  // Operating

  async cancel(task: number): Promise<CancelAnswer> {
    checkTask(task);
    const [answer] = (await this.store.taskCancel({ tasks: [task] })) as [CancelAnswer];
    this.#committed();
    this.#logs.nudge(task);
    if (answer === 'requested') this.#tellCancel(task);
    if (answer === 'unknown') throw fault('NOT_FOUND', { kind: 'task', id: task });
    return answer;
  }

  /**
   * Calls back when a running task was asked, through this engine, to stop: a hint for a worker of the same process, which
   * would hear of it with its next look otherwise. Returns what ends it.
   */
  onCancelRequest(listener: (task: number) => void): () => void {
    // Of its own, so that the same function may be given twice and taken back once.
    const own = (task: number): void => listener(task);
    this.#cancelListeners.add(own);
    return () => void this.#cancelListeners.delete(own);
  }

  /** Runs a finished task again: tries start at 0, the attempt keeps growing. */
  async retry(task: number): Promise<void> {
    checkTask(task);
    const [answer] = await this.store.taskRevive({ tasks: [task] });
    if (answer?.ok) {
      this.readyLanes.mark(answer.lane);
      this.#committed();
      return;
    }
    if (answer?.state === undefined) throw fault('NOT_FOUND', { kind: 'task', id: task });
    throw fault('ILLEGAL_TRANSITION', { kind: 'task', from: answer.state, to: 'ready' });
  }

  /**
   * Cancels a task, everything that was made to wait for it, and what any of these has spawned; those that run are asked, and
   * bear nobody from then on.
   */
  async cancelTree(task: number, options: TreeOptions = {}): Promise<TreeAnswer<CancelAct>> {
    return this.#subtrees.cancel(task, options);
  }

  /** The same tasks, and what hangs on what among them. */
  async tree(task: number): Promise<readonly TreeMember[]> {
    return this.#subtrees.show(task);
  }

  /** Of the same tasks, runs those again that failed or were cancelled; what has completed keeps its results. */
  async retryTree(task: number, options: TreeOptions = {}): Promise<TreeAnswer<RetryAct>> {
    return this.#subtrees.retry(task, options);
  }

  /** Nobody claims from it until it is resumed. A queue that does not exist yet is made, so that it can begin paused. */
  async pause(queue: string): Promise<void> {
    this.readyLanes.pause(checkName('queue', queue), true);
    await this.store.queuePause({ queue, paused: true });
    // Once more: a scan that read the queue before the commit may have undone it.
    this.readyLanes.pause(queue, true);
  }

  /** Resuming a queue that does not exist changes nothing. */
  async resume(queue: string): Promise<void> {
    const known = await this.store.queueStats({ queue: checkName('queue', queue) });
    if (known !== undefined) await this.store.queuePause({ queue, paused: false });
    this.readyLanes.pause(queue, false);
  }

  async get(task: number): Promise<TaskRecord | undefined> {
    checkTask(task);
    return (await this.store.taskGet({ tasks: [task] }))[0];
  }

  /** Why a task is where it is: judged by what claims go by, now. */
  async explain(task: number): Promise<Explanation> {
    const record = await this.get(task);
    if (record === undefined) throw fault('NOT_FOUND', { kind: 'task', id: task });
    return explain(await gatherFacts(this, record));
  }

  async list(query: TaskQuery): Promise<readonly TaskRecord[]> {
    checkQuery(query);
    return this.store.taskList(query);
  }

  async attempts(task: number): Promise<readonly AttemptRecord[]> {
    checkTask(task);
    return this.store.attemptList({ task });
  }

  /** Lines of a task's log above `after`, ordered by attempt and number; at most 1000, by default 200. */
  async readLog(
    task: number,
    options: { readonly after?: LogPlace; readonly limit?: number } = {},
  ): Promise<readonly LogLine[]> {
    checkTask(task);
    checkOptions('options', options, READ_LOG);
    const after = checkLogPlace(options.after);
    return this.store.logRead({ task, after, limit: checkLimit(options.limit ?? 200) });
  }

  /** The lines of a task's log as they come; ends when the task has ended and all of them were read. */
  async *followLog(
    task: number,
    options: { readonly after?: LogPlace; readonly signal?: AbortSignal } = {},
  ): AsyncIterable<LogLine> {
    checkTask(task);
    checkOptions('options', options, FOLLOW_LOG);
    checkSignal(options.signal);
    yield* this.#logs.follow(task, checkLogPlace(options.after), options.signal);
  }

  async stats(queue: string): Promise<QueueStats> {
    return (await this.store.queueStats({ queue: checkName('queue', queue) })) ?? EMPTY_STATS;
  }

  queues(): Promise<readonly QueueRecord[]> {
    return this.store.queueList();
  }

  /** What a queue could use of a fleet now; cheap however many tasks wait. */
  async scale(queue: string): Promise<QueueScale> {
    const found = await queueScale(this.store, checkName('queue', queue));
    if (found === undefined) throw fault('NOT_FOUND', { kind: 'queue', id: queue });
    return found;
  }

  /** How long each queue has had something ready. */
  async oldestAges(): Promise<ReadonlyMap<string, number>> {
    const [oldest, { calendar }] = await Promise.all([oldestByQueue(this.store), this.store.clock()]);
    return new Map([...oldest].map(([queue, since]) => [queue, Math.max(0, calendar - since)]));
  }

  /** Waits for the end of a task and answers with its record. */
  async finished(task: number, signal?: AbortSignal): Promise<TaskRecord> {
    checkTask(task);
    checkSignal(signal);
    const record = await this.#results.wait(task, signal);
    if (record === undefined) throw fault('NOT_FOUND', { kind: 'task', id: task });
    return record;
  }

  async *events(options: { readonly after?: number; readonly signal?: AbortSignal } = {}): AsyncIterable<FeedItem> {
    checkOptions('options', options, EVENTS);
    checkSignal(options.signal);
    yield* this.#feed.follow(whole('after', options.after ?? 0, 0, Number.MAX_SAFE_INTEGER), options.signal);
  }

  async registerWorker(
    told: Omit<NewWorker, 'tags'> &
      Partial<Pick<NewWorker, 'tags'>> & { readonly schemas?: readonly HandlerSchema[] | undefined },
  ): Promise<number> {
    const known = checkNewWorker(told);
    const takes = checkSchemas(told.schemas, known.handlers);
    // Who sees the worker sees what it takes.
    if (takes.length > 0) await this.store.schemaPut({ schemas: takes });
    return this.store.workerRegister(known);
  }

  /** What handlers take, as the workers said that came last. */
  schemas(): Promise<readonly HandlerSchema[]> {
    return this.store.schemaList();
  }

  /** A sign of life. False: the store does not know this worker, which must register again. */
  async beat(beat: Beat): Promise<boolean> {
    return this.#beats.submit(checkBeat(beat));
  }

  /** How long an attempt under this spec may run; undefined sets no bound. */
  timeoutOf(spec: number): Promise<number | undefined> {
    return this.interner.timeout(spec);
  }

  /** Tasks under this spec take a kept result if there is one, and keep theirs. */
  reuses(spec: number): Promise<boolean> {
    return this.#kept.reuses(spec);
  }

  /** What is said of a worker by its name: holds at once for those that live, and for all that come. */
  async setWorker(setting: WorkerSetting): Promise<void> {
    await this.store.workerSet(checkWorkerSetting(setting));
    this.profiles.forget();
    this.readyLanes.hint();
  }

  // Limits

  /** Makes a limit or changes it, for everybody at once; what runs goes on. */
  async setLimit(name: string, limit: LimitInput, by = ''): Promise<number> {
    const revision = await this.store.limitPut({
      name: checkName('limit', name),
      limit: normalizeLimit(limit),
      by: by === '' ? '' : checkKey('by', by),
    });
    this.readyLanes.hint();
    return revision;
  }

  /** Changes what is given of a limit, or makes it. */
  async editLimit({ name, by, ...editing }: LimitEditing): Promise<LimitEdited> {
    const edited = await this.store.limitEdit({
      name: checkName('limit', name),
      by: by === '' ? '' : checkKey('by', by),
      ...editing,
    });
    this.readyLanes.hint();
    return edited;
  }

  /** Takes its bounds away. Tasks that name it are taken no longer; those that are there run as if it were not. */
  async removeLimit(name: string, by = ''): Promise<void> {
    const removed = await this.store.limitRemove({ name: checkName('limit', name), by });
    if (!removed) throw fault('NOT_FOUND', { kind: 'limit', id: name });
    this.readyLanes.hint();
  }

  limits(): Promise<readonly LimitRecord[]> {
    return this.store.limitList();
  }

  /** Who changed what, newest first. */
  async limitHistory(name: string, limit = 100): Promise<readonly LimitChange[]> {
    return this.store.limitHistory({ name: checkName('limit', name), limit: checkLimit(limit) });
  }

  /** What is taken of a limit: in total, then by key. */
  async limitUse(name: string, limit = 100): Promise<readonly CounterRecord[]> {
    return this.store.limitCounters({ name: checkName('limit', name), limit: checkLimit(limit) });
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
    return this.readyLanes.waiters.awaited || this.#feed.awaited || this.#logs.awaited;
  }

  /** A duty of this process changed tasks: readers of the feed and followers of logs look again. */
  changed(): void {
    this.#feed.nudge();
    this.#logs.hint();
  }

  async #timed<T>(verb: 'claim' | 'renew', ask: () => Promise<T>): Promise<T> {
    const since = this.world.clock.monotonic();
    const answer = await ask();
    this.onTimed(verb, this.world.clock.monotonic() - since);
    return answer;
  }

  #committed(): void {
    this.#feed.nudge();
    this.onCommit();
  }

  /**
   * Others have changed something: claimers and readers look again, in these lanes if it is known which. Slots have
   * room again.
   */
  hint(lanes?: readonly number[], counters: readonly number[] = []): void {
    if (lanes === undefined) this.readyLanes.hint();
    else for (const lane of lanes) this.readyLanes.tell(lane);
    this.readyLanes.freed(counters.map((counter) => ({ counter, weight: 1 })));
    this.#committed();
    this.#logs.hint();
  }

  /** What a task of this lane took of its limits is free again: lanes that were held back may try. */
  #freed(lane: number): void {
    this.readyLanes.freed(this.#usesOf(lane));
  }

  #usesOf(lane: number): readonly CounterUse[] {
    return this.readyLanes.lane(lane)?.rules?.uses ?? [];
  }

  #tellCancel(task: number): void {
    for (const listener of this.#cancelListeners) {
      try {
        listener(task);
      } catch {
        // A hint that fails is a lost one; the request itself is stored.
      }
    }
  }
}

/** A task that is asked for by its number is there or not: filters and waiting would promise what is not done. */
function checkTaskClaim(options: ClaimOptions): void {
  checkTask(options.task);
  for (const field of ['queues', 'handlers', 'waitMs'] as const) {
    if (options[field] === undefined) continue;
    throw fault('INVALID_INPUT', { field, problem: 'a claim of one task takes no filters and does not wait' });
  }
}
