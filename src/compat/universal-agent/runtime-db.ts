import {
  checkKey,
  checkOptions,
  fault,
  type Grant,
  isEngineError,
  type Manual,
  type ManualOptions,
  openManual,
  type TaskRecord,
  whole,
} from '../../app/library/manual.ts';
import type { App } from '../../app/open.ts';
import { WorkerRows } from '../../app/pools/worker-rows.ts';
import { refuse } from '../refuse.ts';
import { type Run, type RunStatus, runOf, runStateOf, type StoredSpec } from './runs.ts';

const QUEUE = 'runs';
const HANDLER = 'run';
const DEFAULT_PATH = './runtime.db';
const DEFAULT_MAX_ATTEMPTS = 3;
const MOST_ATTEMPTS = 32_767;
/** A run whose lease ran out is queued again at once. */
const AT_ONCE = { baseMs: 0 } as const;

export interface NewRun {
  readonly run_id?: string;
  readonly runId?: string;
  readonly prompt: string;
  readonly workspace_dir?: string | null;
  readonly workspaceDir?: string | null;
  readonly max_iterations?: number | null;
  readonly maxIterations?: number | null;
  /** How many of its leases may run out before it fails; default 3. */
  readonly max_attempts?: number;
  readonly maxAttempts?: number;
}

const NEW_RUN: ReadonlySet<string> = new Set([
  'run_id',
  'runId',
  'prompt',
  'workspace_dir',
  'workspaceDir',
  'max_iterations',
  'maxIterations',
  'max_attempts',
  'maxAttempts',
] satisfies (keyof NewRun)[]);

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
  readonly #manual: Manual;
  readonly #rows: WorkerRows;
  readonly #held = new Map<string, Held>();
  readonly #tasks = new Map<string, number>();

  constructor(manual: Manual) {
    this.#manual = manual;
    this.app = manual.app;
    this.#rows = new WorkerRows(manual, [HANDLER]);
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
    const { runId, spec, maxAttempts } = readNewRun(run);
    const known = await this.#find(runId);
    if (known !== undefined) return this.#same(known, spec, runId);
    const { engine } = this.#manual;
    const { run: started } = await engine.runs.start({
      request: {
        queue: QUEUE,
        handler: HANDLER,
        input: spec,
        maxAttempts,
        retry: AT_ONCE,
        // The view `runs`, and programs that know no names, find it by its key.
        unique: { key: runId, window: engine.retentionMs },
      },
      run: { name: runId, kind: 'agent', title: HANDLER },
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
    const task = await engine.store.taskByKey({ queue: QUEUE, key: runId });
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

/** Opens the store of runs: a file, `postgres://…`, or `memory:` for one that ends with the process. */
export async function connectRuntimeDb(path: string = DEFAULT_PATH, options: ManualOptions = {}): Promise<RuntimeDb> {
  if (typeof path !== 'string' || path === '')
    throw refuse('path', 'it must be the path of a file, or the URL of a store');
  const url = /^(memory|sqlite|postgres|postgresql):/.test(path) ? path : `sqlite:${path}`;
  return new RuntimeDb(await openManual(url, options));
}

/** Queues a run. An existing run with this id is the answer, or is refused when its specification differs. */
export function queueRun(conn: RuntimeDb, run: NewRun): Promise<Run> {
  return conn.queue(run);
}

export function getRun(conn: RuntimeDb, runId: string): Promise<Run | null> {
  return conn.get(runId);
}

/** True: the lease is ours, whether nobody had it or it had run out. False while it is held, and after the end. */
export async function acquireRunLease(
  conn: RuntimeDb,
  runId: string,
  leaseOwner: string,
  leaseTtlSeconds: number,
): Promise<boolean> {
  return (await conn.acquire(runId, leaseOwner, leaseTtlSeconds)) !== undefined;
}

/** The same, with the token of this lease. */
export async function acquireRunLeaseInfo(
  conn: RuntimeDb,
  runId: string,
  leaseOwner: string,
  leaseTtlSeconds: number,
): Promise<{ readonly acquired: boolean; readonly attempt?: number }> {
  const attempt = await conn.acquire(runId, leaseOwner, leaseTtlSeconds);
  return attempt === undefined ? { acquired: false } : { acquired: true, attempt };
}

/** Extends the lease. False: it is lost, and the work must stop. */
export async function heartbeatRunLease(
  conn: RuntimeDb,
  runId: string,
  leaseOwner: string,
  leaseTtlSeconds: number,
  token?: LeaseToken,
): Promise<boolean> {
  return (await conn.heartbeat(runId, leaseOwner, leaseTtlSeconds, token)).held;
}

/** The same, and whether somebody has asked the run to stop. */
export function heartbeatRunLeaseInfo(
  conn: RuntimeDb,
  runId: string,
  leaseOwner: string,
  leaseTtlSeconds: number,
  token?: LeaseToken,
): Promise<{ readonly held: boolean; readonly cancelRequested: boolean }> {
  return conn.heartbeat(runId, leaseOwner, leaseTtlSeconds, token);
}

/** Gives the run back to the queue, or ends it if it was asked to stop. Without the lease it does nothing. */
export function releaseRunLease(conn: RuntimeDb, runId: string, leaseOwner: string, token?: LeaseToken): Promise<void> {
  return conn.release(runId, leaseOwner, token);
}

/** Ends the run, as `cancelled` if it was asked to stop; rejects with `LEASE_LOST` when another has the lease. */
export function completeRun(
  conn: RuntimeDb,
  runId: string,
  leaseOwner: string,
  result?: unknown,
  token?: LeaseToken,
): Promise<RunStatus> {
  return conn.end(runId, leaseOwner, 'completed', result, token);
}

export function failRun(
  conn: RuntimeDb,
  runId: string,
  leaseOwner: string,
  error?: unknown,
  token?: LeaseToken,
): Promise<RunStatus> {
  return conn.end(runId, leaseOwner, 'failed', error, token);
}

/** The worker has stopped because it was asked to. */
export function acknowledgeCancel(
  conn: RuntimeDb,
  runId: string,
  leaseOwner: string,
  token?: LeaseToken,
): Promise<RunStatus> {
  return conn.end(runId, leaseOwner, 'cancelled', undefined, token);
}

/** Ends a waiting run; asks the worker of a running one. Answers the status after it. */
export function requestCancel(conn: RuntimeDb, runId: string, reason?: string): Promise<RunStatus> {
  return conn.cancel(runId, reason);
}

function readNewRun(run: NewRun): { runId: string; spec: StoredSpec; maxAttempts: number } {
  checkOptions('run', run, NEW_RUN);
  const workspace = run.workspace_dir ?? run.workspaceDir ?? null;
  const iterations = run.max_iterations ?? run.maxIterations ?? null;
  if (typeof run.prompt !== 'string') throw refuse('prompt', 'it must be a text');
  if (workspace !== null && typeof workspace !== 'string') throw refuse('workspace_dir', 'it must be a path');
  return {
    runId: checkKey('run_id', run.run_id ?? run.runId),
    spec: {
      prompt: run.prompt,
      workspace_dir: workspace,
      max_iterations: iterations === null ? null : whole('max_iterations', iterations, 0, Number.MAX_SAFE_INTEGER),
    },
    maxAttempts: whole('max_attempts', run.max_attempts ?? run.maxAttempts ?? DEFAULT_MAX_ATTEMPTS, 1, MOST_ATTEMPTS),
  };
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
