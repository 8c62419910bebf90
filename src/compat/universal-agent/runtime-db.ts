import { randomUUID } from 'node:crypto';
import {
  checkKey,
  checkName,
  checkOptions,
  fault,
  type Grant,
  isEngineError,
  type Manual,
  type ManualOptions,
  openManual,
  type TaskRecord,
} from '../../app/library/manual.ts';
import type { App } from '../../app/open.ts';
import { WorkerRows } from '../../app/pools/worker-rows.ts';
import { refuse } from '../refuse.ts';
import { type NewRun, readNewRun } from './new-run.ts';
import { attemptsOf, type RunAttempt } from './run-attempts.ts';
import { type Run, type RunStatus, runOf, runStateOf, type StoredSpec } from './runs.ts';
import { makeWorkspace } from './workspace.ts';

const DEFAULT_QUEUE = 'runs';
/** The handler of runs. */
export const RUN_HANDLER = 'run';

export interface RuntimeDbOptions extends ManualOptions {
  /** Where the runs of this connection wait; default `runs`, which the view of that name shows. */
  readonly queue?: string;
}

/** One of several leases of the same owner, by the number that `acquireRunLeaseInfo` answered. */
export interface LeaseToken {
  readonly attempt?: number;
}

const TOKEN: ReadonlySet<string> = new Set(['attempt'] satisfies (keyof LeaseToken)[]);

interface Held {
  readonly owner: string;
  readonly worker: number;
  readonly grant: Grant;
}

/** A store for runs. Leases belong to the connection that acquired them: nobody else can speak for them, whatever the name. */
export class RuntimeDb {
  readonly app: App;
  /** Where its runs wait. */
  readonly queueName: string;
  readonly #manual: Manual;
  readonly #again: (options: RuntimeDbOptions) => Promise<RuntimeDb>;
  readonly #rows: WorkerRows;
  readonly #held = new Map<string, Held>();
  readonly #tasks = new Map<string, number>();

  private constructor(manual: Manual, queue: string, again: (options: RuntimeDbOptions) => Promise<RuntimeDb>) {
    this.#manual = manual;
    this.#again = again;
    this.app = manual.app;
    this.queueName = queue;
    this.#rows = new WorkerRows(manual, [RUN_HANDLER]);
  }

  static async open(url: string, options: RuntimeDbOptions = {}): Promise<RuntimeDb> {
    const { queue = DEFAULT_QUEUE, ...rest } = options;
    checkName('queue', queue);
    // Named here, so that another connection finds the same memory.
    const named = url === 'memory:' ? `memory:${randomUUID()}` : url;
    const again = (more: RuntimeDbOptions): Promise<RuntimeDb> => RuntimeDb.open(named, { ...options, ...more });
    return new RuntimeDb(await openManual(named, rest), queue, again);
  }

  /** Another connection to the same store, with the options of this one where no others are given. */
  connect(options: RuntimeDbOptions = {}): Promise<RuntimeDb> {
    return this.#again(options);
  }

  /** Leases that are still held run out by themselves. */
  async close(): Promise<void> {
    await this.#rows.close();
    await this.#manual.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async queue(run: NewRun): Promise<Run> {
    const { runId, isKeyed, spec, maxAttempts, backoffMs, priority, scaffold } = readNewRun(run);
    if (scaffold && typeof spec.workspace_dir === 'string') await makeWorkspace(spec.workspace_dir, 1);
    const known = await this.#find(runId);
    if (known !== undefined) return isKeyed ? this.#run(known, runId) : this.#same(known, spec, runId);
    const { engine } = this.#manual;
    const { run: started } = await engine.runs.start({
      request: {
        queue: this.queueName,
        handler: RUN_HANDLER,
        input: spec,
        maxAttempts,
        priority,
        // By default a run whose lease ran out is queued again at once.
        retry: { baseMs: backoffMs },
        // The view `runs`, and programs that know no names, find it by its key.
        unique: { key: runId, window: engine.retentionMs },
      },
      run: { name: runId, kind: 'agent', title: RUN_HANDLER },
      // To queue a run that exists never changes it.
      revive: false,
    });
    this.#tasks.set(runId, started.task);
    return this.#require(runId);
  }

  async get(runId: string): Promise<Run | null> {
    const task = await this.#find(checkKey('run_id', runId));
    return task === undefined ? null : this.#run(task, runId);
  }

  /** Resolves to the run when it has ended, however. */
  async ended(runId: string): Promise<Run> {
    const record = await this.#find(checkKey('run_id', runId));
    if (record === undefined) throw unknownRun(runId);
    try {
      await this.app.handle(this.app.engine.idOf(record)).result();
    } catch (error) {
      // That it failed or was cancelled is an end as well.
      const run = await this.#require(runId);
      if (run.status !== 'failed' && run.status !== 'cancelled') throw error;
      return run;
    }
    return this.#require(runId);
  }

  /** The run that is this task, and its name. */
  async runOfTask(task: number): Promise<Run | null> {
    const record = await this.app.engine.get(task);
    return record === undefined ? null : this.#run(record, record.unique ?? String(task));
  }

  /** Oldest first, with the one to come while it waits. */
  async attempts(runId: string): Promise<readonly RunAttempt[]> {
    const task = await this.#find(checkKey('run_id', runId));
    if (task === undefined) throw unknownRun(runId);
    const { engine } = this.#manual;
    const [past, workers] = await Promise.all([engine.attempts(task.task), engine.workers.list()]);
    const names = new Map(workers.map(({ worker, name }) => [worker, name]));
    return attemptsOf(runId, task, past, (worker) => names.get(worker) ?? null);
  }

  /** The next run in the order of claims, with its attempt. One whose lease has expired is taken back first. */
  async acquireNext(
    owner: string,
    ttlSeconds: number,
  ): Promise<{ readonly runId: string; readonly attempt: number } | undefined> {
    const ttlMs = checkTtl(ttlSeconds);
    const worker = await this.#rows.numberOf(owner);
    const { engine } = this.#manual;
    for (let looks = 0; ; looks++) {
      // Once more, because another process may have queued a run a moment ago.
      if (looks === 1) engine.hint();
      const claim = { worker, max: 1, handlers: [RUN_HANDLER], queues: [this.queueName], leaseMs: ttlMs };
      const [grant] = await engine.claim(claim);
      if (grant !== undefined) {
        const runId = (await engine.get(grant.task))?.unique ?? String(grant.task);
        this.#held.set(runId, { owner, worker, grant });
        return { runId, attempt: grant.attempt };
      }
      if (looks > 0 && !(await this.#takeOverAny())) return undefined;
    }
  }

  /** The attempt of the lease; undefined while somebody holds it, and when the run has ended. */
  async acquire(runId: string, owner: string, ttlSeconds: number): Promise<number | undefined> {
    const ttlMs = checkTtl(ttlSeconds);
    checkKey('run_id', runId);
    for (;;) {
      const record = await this.#find(runId);
      if (record === undefined) throw unknownRun(runId);
      const worker = await this.#rows.numberOf(owner);
      const { task, state } = record;
      if (state !== 'ready') {
        // The reap is the takeover: from then on, and not before, the former holder is refused.
        if (state === 'running' && (await this.#manual.takeOver(task))) continue;
        return undefined;
      }
      const [grant] = await this.#manual.engine.claim({ worker, max: 1, task, leaseMs: ttlMs });
      if (grant === undefined) return undefined;
      this.#held.set(runId, { owner, worker, grant });
      return grant.attempt;
    }
  }

  async heartbeat(
    runId: string,
    owner: string,
    ttlSeconds: number,
    token?: LeaseToken,
  ): Promise<{ held: boolean; cancelRequested: boolean }> {
    const ttlMs = checkTtl(ttlSeconds);
    const held = this.#heldBy(runId, owner, token);
    if (held === undefined) return { held: false, cancelRequested: false };
    const { engine } = this.#manual;
    // Both in one turn. The beat only shows people that the owner is alive.
    const [answer] = await Promise.all([
      engine.renew(held.grant, ttlMs),
      engine.workers.beat({ worker: held.worker }).catch(() => false),
    ]);
    if (!answer.held) this.#forget(runId, held);
    return { held: answer.held, cancelRequested: answer.held && answer.cancelRequested };
  }

  async release(runId: string, owner: string, token?: LeaseToken): Promise<void> {
    const held = this.#heldBy(runId, owner, token);
    if (held === undefined) return;
    await this.#settle(runId, held, (grant) => this.#manual.engine.release(grant)).catch((error: unknown) => {
      if (!isEngineError(error, 'LEASE_LOST')) throw error;
    });
  }

  async end(
    runId: string,
    owner: string,
    end: 'completed' | 'failed' | 'cancelled',
    outcome: unknown,
    token?: LeaseToken,
  ): Promise<RunStatus> {
    const held = this.#heldBy(runId, owner, token);
    if (held === undefined) throw notHeld(runId);
    const { engine } = this.#manual;
    return this.#settle(runId, held, async (grant) => {
      const record = end === 'cancelled' ? undefined : await engine.get(grant.task);
      // Universal Agent has no way from a requested cancel to another end.
      const mine = record?.attempt === grant.attempt && record.state === 'running';
      const to = end === 'cancelled' || (mine && record.cancelRequestedAt !== undefined) ? 'cancelled' : end;
      if (to === 'cancelled') await engine.cancelled(grant);
      else if (to === 'completed') await engine.complete(grant, outcome);
      // An error ends a run; it can be queued again under another id.
      else await engine.fail(grant, outcome ?? 'the worker gave no reason', { giveUp: true });
      return to;
    });
  }

  async cancel(runId: string, reason?: string): Promise<RunStatus> {
    const text = reason === undefined ? undefined : checkKey('reason', reason);
    const record = await this.#find(checkKey('run_id', runId));
    if (record === undefined) throw unknownRun(runId);
    await this.#manual.engine.runs.cancel(record.task, { why: text });
    return (await this.#require(runId)).status;
  }

  async #settle<T>(runId: string, held: Held, settle: (grant: Grant) => Promise<T>): Promise<T> {
    try {
      const answer = await settle(held.grant);
      this.#forget(runId, held);
      return answer;
    } catch (error) {
      // Anything else can be tried again under the same lease.
      if (isEngineError(error, 'LEASE_LOST')) this.#forget(runId, held);
      throw error;
    }
  }

  /** Takes back one expired lease of a run, if there is one. */
  async #takeOverAny(): Promise<boolean> {
    const expired = (await this.#manual.running(this.queueName)).filter(({ handler }) => handler === RUN_HANDLER);
    const ours = new Set(expired.map(({ task }) => task));
    return ours.size > 0 && this.#manual.takeOverOne(({ task }) => ours.has(task));
  }

  #heldBy(runId: string, owner: string, token: LeaseToken = {}): Held | undefined {
    checkOptions('lease', token, TOKEN);
    const held = this.#held.get(runId);
    if (held === undefined || held.owner !== owner) return undefined;
    return token.attempt === undefined || token.attempt === held.grant.attempt ? held : undefined;
  }

  #forget(runId: string, held: Held): void {
    if (this.#held.get(runId) === held) this.#held.delete(runId);
  }

  async #find(runId: string): Promise<TaskRecord | undefined> {
    const { engine } = this.#manual;
    const cached = this.#tasks.get(runId);
    if (cached !== undefined) {
      const record = await engine.get(cached);
      if (record?.unique === runId) return record;
      this.#tasks.delete(runId);
    }
    const task = await engine.store.taskByKey({ queue: this.queueName, key: runId });
    if (task === undefined) return undefined;
    this.#tasks.set(runId, task);
    return engine.get(task);
  }

  async #require(runId: string): Promise<Run> {
    const run = await this.get(runId);
    if (run === null) throw unknownRun(runId);
    return run;
  }

  async #run(task: TaskRecord, runId: string): Promise<Run> {
    const { engine } = this.#manual;
    const { holder } = task;
    const row =
      holder === undefined ? undefined : (await engine.workers.list()).find(({ worker }) => worker === holder);
    const asked = task.cancelRequestedAt === undefined ? undefined : await engine.runs.get(task.task);
    const cancelReason = asked?.cancelNote?.why;
    const { calendar, lease } = await engine.store.clock();
    return runOf(task, { runId, holder: row, ahead: calendar - lease, cancelReason });
  }

  /** An existing run is not changed. It is the answer only for the same specification. */
  async #same(task: TaskRecord, spec: StoredSpec, runId: string): Promise<Run> {
    const run = await this.#run(task, runId);
    const { workspace_dir = null, max_iterations = null } = spec;
    if (
      run.run_spec.prompt === spec.prompt &&
      run.workspace_dir === workspace_dir &&
      run.max_iterations === max_iterations
    ) {
      return run;
    }
    throw fault('CONFLICT', {
      problem: `the run ${runId} exists with another specification and is ${runStateOf(task)}`,
    });
  }
}

function checkTtl(seconds: unknown): number {
  if (typeof seconds === 'number' && seconds >= 0.01 && seconds <= 86_400) return Math.round(seconds * 1000);
  throw refuse('lease_ttl_seconds', 'it must be a number of seconds from 0.01 to 86400');
}

function unknownRun(runId: string): Error {
  return fault('NOT_FOUND', { kind: 'run', id: runId });
}

function notHeld(runId: string): Error {
  return fault(
    'LEASE_LOST',
    { task: `the run ${runId}` },
    { hint: 'Stop work on this run; only the connection that holds its lease can end it.' },
  );
}
