import type { Duration } from '../core/duration.ts';
import { fault } from '../core/errors.ts';
import { MAX_ID } from '../core/ids.ts';
import { checkName } from '../core/names.ts';
import type { Permissions } from '../core/placement/permissions.ts';
import { credentialsIn } from '../core/placement/placement.ts';
import { EMPTY_STATS, type QueueStats } from '../core/task/event.ts';
import type { Lease } from '../core/task/lease.ts';
import type { TaskState } from '../core/task/task.ts';
import type { World } from '../core/world.ts';
import type {
  AttemptRecord,
  CallerTransaction,
  CancelAnswer,
  Dependency,
  Grant,
  JournalEntry,
  KeptResult,
  Lane,
  QueueRecord,
  RenewAnswer,
  ReviveAnswer,
  Store,
  TaskQuery,
  TaskRecord,
} from '../store/store.ts';
import type { Artifacts } from './artifacts/artifacts.ts';
import type { AuditTrail } from './audit.ts';
import {
  checkLease,
  checkLeaseMs,
  checkLimit,
  checkList,
  checkQuery,
  checkSignal,
  checkTask,
  checkWorker,
  whole,
} from './check.ts';
import { type Acquired, memberOf, refusalOf } from './claim/acquire.ts';
import { type ClaimOptions, checkClaim } from './claim/claim-options.ts';
import { type Bounds, executable } from './claim/executable.ts';
import type { ReadyLanes } from './claim/ready-lanes.ts';
import type { WorkerProfiles } from './claim/worker-profiles.ts';
import type { Credentials } from './credentials.ts';
import type { Limits } from './limits.ts';
import { type EngineListener, Listeners } from './listeners.ts';
import { type EngineParts, makeParts } from './parts.ts';
import { wholeStore } from './plain-queue.ts';
import type { Pools } from './pools.ts';
import type { GraphRequest } from './push/graphs.ts';
import type { Interner } from './push/interner.ts';
import type { PushRequest } from './push/push.ts';
import type { Pushed } from './push/pushes.ts';
import { readSpec } from './push/spec.ts';
import { type Explanation, explain } from './read/explain.ts';
import { gatherFacts } from './read/facts.ts';
import { checkAfter, type EventsAfter, type FeedItem } from './read/feed.ts';
import { NO_WORK, oldestByQueue, type QueueScale, queueScale } from './read/scale.ts';
import type { Schedules } from './schedules.ts';
import { checkSettings, type EngineOptions, type RemoveBlobs } from './settings.ts';
import type { ReusingLease } from './settle/kept-results.ts';
import { KeyedMutex } from './settle/keyed-mutex.ts';
import type { CompleteOptions, FailOptions, ReleaseOptions } from './settle/settle-options.ts';
import type { Completed, HeldLease } from './settle/settles.ts';
import type { TaskLogs } from './settle/task-logs.ts';
import type { TurnRequest } from './settle/turn-request.ts';
import type { TurnResult } from './settle/turns.ts';
import type { Waits } from './settle/waits.ts';
import type { Budgets } from './trees/budgets.ts';
import type { Documents } from './trees/documents.ts';
import type { Runs } from './trees/runs.ts';
import type { Trees } from './trees/trees.ts';
import type { Triggers } from './triggers/triggers.ts';
import type { Upgrades } from './upgrades/upgrades.ts';
import type { Workers } from './workers.ts';
import type { Workflows } from './workflows.ts';

export type { ClaimOptions, EngineOptions };

/**
 * Durable, fenced, leased tasks on any store. Every process has an engine of its own; none needs another one to be right.
 *
 * Bad arguments are refused with `INVALID_INPUT` or `UNKNOWN_OPTION` before anything is changed. A call that returns a promise
 * refuses them by rejecting it.
 */
export class Engine {
  readonly store: Store;
  readonly world: World;
  readonly leaseMs: number;
  readonly retentionMs: number;
  /** How long entries of the audit are kept. */
  readonly auditRetentionMs: number;
  readonly workerStaleMs: number;
  readonly cleanupMs: number;
  /** How long artifacts are kept after the end of their task. */
  readonly artifactRetentionMs: number;
  /** Deletes bytes of artifacts; undefined: this process cannot. */
  readonly removeBlobs: RemoveBlobs | undefined;
  /** Lanes believed to have ready tasks; for the duties. */
  readonly readyLanes: ReadyLanes;
  /** What claims know of the workers. */
  readonly profiles: WorkerProfiles;
  /** Numbers of lanes and specs; for the duties. */
  readonly interner: Interner;
  /** Files that tasks leave behind. */
  readonly artifacts: Artifacts;
  /** Who did what. */
  readonly audit: AuditTrail;
  /** Named secrets, and who holds them. */
  readonly credentials: Credentials;
  /** Which worker should run which release. */
  readonly upgrades: Upgrades;
  /** Trees of tasks that are written down first and executed later. */
  readonly documents: Documents;
  /** What all tasks of a tree may use together. */
  readonly budgets: Budgets;
  readonly limits: Limits;
  readonly logs: TaskLogs;
  /** How many workers there should be. */
  readonly pools: Pools;
  /** Root tasks that have a name, a kind and a definition. */
  readonly runs: Runs;
  /** Tasks that are pushed by a clock. */
  readonly schedules: Schedules;
  /** What starts work when something happens. */
  readonly triggers: Triggers;
  readonly workflows: Workflows;
  readonly trees: Trees;
  readonly waits: Waits;
  readonly workers: Workers;
  readonly #parts: EngineParts;
  readonly #listeners = new Listeners();
  readonly #acquiring = new KeyedMutex();

  constructor(options: EngineOptions) {
    const settings = checkSettings(options);
    this.store = wholeStore(options.store);
    this.world = options.world;
    this.leaseMs = settings.leaseMs;
    this.retentionMs = settings.retentionMs;
    this.auditRetentionMs = settings.auditRetentionMs;
    this.workerStaleMs = settings.workerStaleMs;
    this.cleanupMs = settings.cleanupMs;
    this.artifactRetentionMs = settings.artifactRetentionMs;
    this.removeBlobs = options.removeBlobs;
    const { triggerHost } = options;
    const parts = makeParts({
      store: this.store,
      world: this.world,
      settings,
      listeners: this.#listeners,
      triggerHost,
    });
    this.#parts = parts;
    this.readyLanes = parts.readyLanes;
    this.profiles = parts.profiles;
    this.interner = parts.interner;
    this.artifacts = parts.artifacts;
    this.audit = parts.audit;
    this.credentials = parts.credentials;
    this.upgrades = parts.upgrades;
    this.documents = parts.documents;
    this.budgets = parts.budgets;
    this.limits = parts.limits;
    this.logs = parts.logs;
    this.pools = parts.pools;
    this.runs = parts.runs;
    this.schedules = parts.schedules;
    this.triggers = parts.triggers;
    this.workflows = parts.workflows;
    this.trees = parts.trees;
    this.waits = parts.waits;
    this.workers = parts.workers;
  }

  /** Subscribes to what happens in this engine. Returns a function that ends the subscription. */
  listen(listener: EngineListener): () => void {
    return this.#listeners.add(listener);
  }

  // Pushing

  push(request: PushRequest): Promise<Pushed> {
    if (this.world.tracing !== undefined) return this.#traced([request], async () => this.#parts.pushes.push(request));
    return this.#parts.pushes.push(request);
  }

  /**
   * All are checked before any is sent. A unique key that belongs to another input is refused, and so is a task for which its limit has no
   * room; the others are stored. The error has their ids by place in `details.pushed`, with null for what was refused.
   */
  async pushMany(requests: readonly PushRequest[]): Promise<readonly Pushed[]> {
    checkList('requests', requests);
    return this.#traced(requests, () => this.#parts.pushes.pushMany(requests));
  }

  /**
   * Part of the caller's own transaction: the tasks exist if, and only if, the caller commits. On SQLite the work is done when the call
   * returns, so a synchronous transaction may commit at once; a refusal comes with the promise.
   */
  async pushIn(tx: CallerTransaction, requests: readonly PushRequest[]): Promise<readonly Pushed[]> {
    checkList('requests', requests);
    return this.#parts.pushes.pushIn(tx, requests);
  }

  /** Tasks that wait for each other, all or nothing; cycles and unknown names are refused. */
  pushGraph(requests: readonly GraphRequest[]): Promise<readonly Pushed[]> {
    return this.#traced(requests, () => this.#parts.graphs.push(requests));
  }

  /** Only new tasks are traced: an existing one was traced when it was first pushed. */
  async #traced<T extends Pushed | readonly Pushed[]>(
    requests: readonly { readonly queue: string; readonly handler: string }[],
    push: () => Promise<T>,
  ): Promise<T> {
    const onPushed = this.world.tracing?.pushing();
    const answer = await push();
    if (onPushed === undefined) return answer;
    const all: readonly Pushed[] = Array.isArray(answer) ? answer : [answer as Pushed];
    onPushed(
      all.flatMap(({ id, fresh }, i) => {
        const { queue, handler } = requests[i] ?? { queue: '', handler: '' };
        return fresh ? [{ id, queue, handler }] : [];
      }),
    );
    return answer;
  }

  // Holding

  async claim(options: ClaimOptions): Promise<readonly Grant[]> {
    const { request, waitMs } = checkClaim(options, this.leaseMs);
    const { task } = options;
    const grants =
      task === undefined
        ? await this.#parts.claims.claim(request, waitMs, options.signal)
        : await this.#parts.claims.claimTask({ ...request, task });
    return this.#granted(grants, request.leaseMs);
  }

  /**
   * Claims this task, if it is ready and its placement, limits and bounds allow this worker; otherwise answers why not. `token`: the number
   * of the caller's token; nothing is granted once it has ended.
   */
  async acquire(
    task: number,
    worker: number,
    options: { readonly token?: number | undefined } = {},
  ): Promise<Acquired> {
    // One after the other: each counts what the worker has, and several at once would all find the same free slot.
    return this.#acquiring.take(checkWorker(worker), () => this.#acquire(task, worker, options));
  }

  async #acquire(task: number, worker: number, { token }: { readonly token?: number | undefined }): Promise<Acquired> {
    const record = await this.get(task);
    if (record === undefined) return { ok: false, why: 'gone', reasons: ['there is no such task'] };
    const member = await memberOf(this.store, worker);
    if (member === undefined) return { ok: false, why: 'lost', reasons: ['the worker is not registered'] };
    const facts = await gatherFacts(this, record);
    const refused = refusalOf(facts, member);
    if (refused !== undefined) return refused;
    const maxHeld = facts.lane.rules?.placement.maxPerWorker;
    const request = { worker, task, leaseMs: this.leaseMs, op: undefined, token, revision: member.revision, maxHeld };
    const [grant] = await this.#granted(await this.#parts.claims.claimTask(request), this.leaseMs);
    return grant === undefined
      ? { ok: false, why: 'taken', reasons: ['another worker was faster, or this worker has changed'] }
      : { ok: true, grant };
  }

  /** Ready tasks that this worker could be granted now, within its bounds and in the order of a claim. This only reads. */
  async executable(worker: number, limit = 10, bounds: Bounds = {}): Promise<readonly TaskRecord[]> {
    const member = await memberOf(this.store, checkWorker(worker));
    if (member === undefined) throw fault('NOT_FOUND', { kind: 'worker', id: worker });
    return executable(this.store, member, checkLimit(limit), bounds);
  }

  /** Synchronous for most claims: an await would make them start a turn later. */
  #granted(grants: readonly Grant[], leaseMs: number): readonly Grant[] | Promise<readonly Grant[]> {
    if (grants.length === 0) return grants;
    this.#listeners.leased(leaseMs);
    this.#listeners.granted(grants, leaseMs);
    this.#committed();
    return (
      this.#parts.gatherer.complete(grants)?.catch(async (error: unknown) => {
        // They are granted, and their caller would not know: their leases would expire and cost them a try.
        await Promise.allSettled(grants.map((grant) => this.release(grant)));
        throw error;
      }) ?? grants
    );
  }

  /** Extends the lease. Answers whether it is lost, and whether the task should stop. */
  async renew(lease: Lease, leaseMs: Duration = this.leaseMs): Promise<RenewAnswer> {
    return this.#parts.settles.renew(lease, checkLeaseMs(leaseMs));
  }

  /** `ARTIFACT_UNKNOWN`: it refers to an artifact that is not whole, or is of another tree. Then nothing was changed. */
  complete(lease: HeldLease, result?: unknown, options?: CompleteOptions): Promise<void> {
    const { settles } = this.#parts;
    if (options?.artifacts === undefined) return settles.complete(lease, result);
    return this.#checkRefs(lease, options).then(() => settles.complete(lease, result));
  }

  /** As `complete` for several, with one promise. Answers for each nothing, or why it was refused. */
  completeMany(ends: readonly Completed[]): Promise<readonly (Error | undefined)[]> {
    const { settles } = this.#parts;
    if (ends.every(({ artifacts }) => artifacts === undefined)) return settles.completeMany(ends);
    return this.#completeChecked(ends);
  }

  async #completeChecked(ends: readonly Completed[]): Promise<readonly (Error | undefined)[]> {
    const refused = await Promise.all(
      ends.map((end) => this.#checkRefs(end.lease, end).catch((error: unknown) => error as Error)),
    );
    const good = ends.filter((_, i) => refused[i] === undefined);
    const answers = [...(await this.#parts.settles.completeMany(good))];
    return refused.map((error) => error ?? answers.shift());
  }

  async #checkRefs(lease: Lease, { artifacts }: CompleteOptions): Promise<undefined> {
    if (artifacts === undefined) return;
    checkLease(lease);
    await this.artifacts.checkRefs(lease.task, artifacts);
  }

  /** The attempt failed. Resolves to the new state of the task. */
  fail(lease: HeldLease, error: unknown, options: FailOptions = {}): Promise<TaskState> {
    return this.#parts.settles.fail(lease, error, options);
  }

  /** Gives the task back, and its try with it. */
  release(lease: HeldLease, options: ReleaseOptions = {}): Promise<TaskState> {
    return this.#parts.settles.release(lease, options);
  }

  /** The worker stopped the task because it was asked to. */
  cancelled(lease: HeldLease, said?: unknown): Promise<void> {
    return this.#parts.settles.cancelled(lease, said);
  }

  /** Leases of this worker whose tasks were asked to stop. */
  async cancelRequests(worker: number): Promise<readonly Lease[]> {
    return this.store.leaseCancels({ holder: checkWorker(worker) });
  }

  /**
   * Commits a turn of an attempt: journal entries, children, signals, log lines, and how it goes on; all of it or nothing. Children are at
   * most 32 levels deep, and a task has at most 10,000.
   */
  turn(lease: HeldLease, request: TurnRequest): Promise<TurnResult> {
    const { turns } = this.#parts;
    const then = request?.then;
    if (then?.go !== 'complete' || then.artifacts === undefined) return turns.turn(lease, request);
    return this.#checkRefs(lease, then).then(() => turns.turn(lease, request));
  }

  /** The journal of a task, ordered by time. */
  async journal(task: number): Promise<readonly JournalEntry[]> {
    checkTask(task);
    return this.store.journalList({ task });
  }

  /** The result of a similar task, if this one was pushed with `reuse` and there is one. With it, the task need not run. */
  keptResult(lease: ReusingLease): Promise<KeptResult | undefined> {
    return this.#parts.kept.find(lease);
  }

  /** Keeps the result for similar tasks, under the fence. Called before the task is completed, so that no crash loses it. */
  keepResult(lease: ReusingLease, result: unknown): Promise<void> {
    return this.#parts.kept.keep(lease, result);
  }

  /** What a task waits for, or has waited for, with the results of those that have ended. */
  async dependencies(task: number): Promise<readonly Dependency[]> {
    checkTask(task);
    return this.store.depList({ task });
  }

  // Operating

  async cancel(task: number): Promise<CancelAnswer> {
    checkTask(task);
    const [answer] = (await this.store.taskCancel({ tasks: [task] })) as [CancelAnswer];
    this.#committed();
    this.logs.nudge(task);
    if (answer === 'requested') this.#listeners.cancelRequested(task);
    if (answer === 'unknown') throw fault('NOT_FOUND', { kind: 'task', id: task });
    return answer;
  }

  /** Cancels many at once; the answer for those that are gone is `unknown`. */
  async cancelMany(tasks: readonly number[]): Promise<readonly CancelAnswer[]> {
    const answers = await this.store.taskCancel({ tasks });
    this.hint([]);
    for (const [i, answer] of answers.entries()) {
      if (answer === 'requested') this.#listeners.cancelRequested(tasks[i] as number);
    }
    return answers;
  }

  /** Runs many finished tasks again, as far as they can be. */
  async retryMany(tasks: readonly number[]): Promise<readonly ReviveAnswer[]> {
    const answers = await this.store.taskRevive({ tasks });
    this.hint([...new Set(answers.flatMap((answer) => (answer.ok ? [answer.lane] : [])))]);
    return answers;
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

  /** Nothing is claimed from the queue until it is resumed. A queue that does not exist yet is made, so that it can begin paused. */
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

  /** Why a task is in its state, by the rules that claims use now. */
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

  async stats(queue: string): Promise<QueueStats> {
    return (await this.store.queueStats({ queue: checkName('queue', queue) })) ?? EMPTY_STATS;
  }

  queues(): Promise<readonly QueueRecord[]> {
    return this.store.queueList();
  }

  /** How many slots a queue could use now; cheap however many tasks wait. A queue without a task so far could use none. */
  async scale(queue: string): Promise<QueueScale> {
    return (await queueScale(this.store, checkName('queue', queue))) ?? NO_WORK;
  }

  /** How long each queue has had a ready task. */
  async oldestAges(): Promise<ReadonlyMap<string, number>> {
    const [oldest, { calendar }] = await Promise.all([oldestByQueue(this.store), this.store.clock()]);
    return new Map([...oldest].map(([queue, since]) => [queue, Math.max(0, calendar - since)]));
  }

  /** Waits for the end of a task and answers with its record. */
  async finished(task: number, signal?: AbortSignal): Promise<TaskRecord> {
    checkTask(task);
    checkSignal(signal);
    const record = await this.#parts.results.wait(task, signal);
    if (record === undefined) throw fault('NOT_FOUND', { kind: 'task', id: task });
    return record;
  }

  /** The number of the newest event, where a follower that wants only new ones begins. */
  newestEvent(): Promise<number> {
    return this.#parts.feed.newest();
  }

  async *events(options: EventsAfter = {}): AsyncIterable<FeedItem> {
    yield* this.#parts.feed.follow(checkAfter(options), options.signal);
  }

  /** The same in pages. */
  async *eventPages(options: EventsAfter = {}): AsyncIterable<readonly FeedItem[]> {
    yield* this.#parts.feed.pages(checkAfter(options), options.signal);
  }

  /** How long an attempt under this spec may run; undefined: no bound. */
  timeoutOf(spec: number): Promise<number | undefined> {
    return this.interner.timeout(spec);
  }

  /** What tasks under this spec may do to others, as whoever pushed the run says. */
  async permissionsOf(spec: number): Promise<Permissions | undefined> {
    return readSpec(await this.interner.specBody(spec)).permissions;
  }

  /** The credentials that tasks of this lane ask for. A lane that was just claimed from is known, unless it was forgotten since. */
  credentialsOf(lane: number): readonly string[] | undefined | Promise<readonly string[] | undefined> {
    const known = this.readyLanes.lane(lane);
    if (known === undefined) return this.store.laneGet({ lanes: [lane] }).then(([found]) => askedOf(found));
    return known.rules === undefined ? undefined : askedOf(known);
  }

  /** Whether tasks under this spec take over a kept result if there is one, and keep theirs. */
  reuses(spec: number): Promise<boolean> {
    return this.#parts.kept.reuses(spec);
  }

  // Names

  idOf(task: { readonly task: number; readonly createdAt: number }): string {
    checkTask(task?.task);
    return this.#parts.ids.encode('task_', task.task, whole('createdAt', task.createdAt, 0, MAX_ID));
  }

  /** The internal number of a public id; refused when this cluster did not make it. */
  parseId(id: string): number {
    const decoded = typeof id === 'string' ? this.#parts.ids.decode('task_', id) : undefined;
    if (decoded === undefined) throw fault('INVALID_ID', { kind: 'task', id });
    return decoded.id;
  }

  /** A claim or a follower of this process waits, so hints of other processes are wanted. */
  get waiting(): boolean {
    return this.readyLanes.waiters.awaited || this.#parts.feed.awaited || this.logs.awaited;
  }

  /** An end has left dependents to the stager: if this process holds it, it works at once. */
  carried(): void {
    this.#listeners.due(0);
  }

  /** The reaper of this process has taken back so many of these leases. */
  expired(leases: readonly Lease[], reaped: number): void {
    this.#listeners.expired(leases, reaped);
  }

  /** A duty of this process changed tasks: followers of the feed and of logs look again. */
  changed(): void {
    this.#parts.feed.nudge();
    this.logs.hint();
    this.#listeners.changed();
  }

  #committed(): void {
    this.#parts.feed.nudge();
    this.#listeners.committed();
  }

  /**
   * Another process has changed something: claims and followers look again, in these lanes if they are known. `counters`: limit
   * counters that have room again.
   */
  hint(lanes?: readonly number[], counters: readonly number[] = []): void {
    if (lanes === undefined) this.readyLanes.hint();
    else for (const lane of lanes) this.readyLanes.report(lane);
    this.readyLanes.freed(counters.map((counter) => ({ counter, weight: 1 })));
    this.#committed();
    this.logs.hint();
  }
}

function askedOf(lane: Lane | undefined): readonly string[] | undefined {
  return lane?.rules === undefined ? undefined : credentialsIn(lane.rules.placement);
}
