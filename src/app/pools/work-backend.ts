import {
  checkOptions,
  fault,
  type Grant,
  isEngineError,
  type Manual,
  type ManualOptions,
  openManual,
  whole,
} from '../library/manual.ts';
import { MOST_LEASES } from '../link/lease-keeper.ts';
import { type BackendConfig, storeUrl } from './backend-config.ts';
import { WorkerRows } from './worker-rows.ts';

export interface WorkItem {
  /** The number of the task as text, as in the view `work_pool`. */
  readonly id: string;
  readonly data: unknown;
  readonly claimed_by?: string;
  /** Counted at the claim: 1 at the first. */
  readonly attempts: number;
  readonly max_retries: number;
}

export interface WorkPool {
  /** Adds an item; answers its id. The `max_retries`-th failed, crashed or released try poisons it; default 3. */
  push(item: unknown, options?: { readonly max_retries?: number }): Promise<string>;
  /** The next item, for this worker alone; null when none is pending. The claim is renewed while this process lives. */
  claim(worker_id: string): Promise<WorkItem | null>;
  /**
   * Ends the claim that this pool object made; given the item itself, that very claim. Rejects with `LEASE_LOST` when it was
   * lost.
   */
  complete(item: string | WorkItem, result?: unknown): Promise<void>;
  /** As `complete`; the item is pending again at once, or poisoned. */
  fail(item: string | WorkItem, error?: unknown): Promise<void>;
  /** Gives the item back with its try, as if it had not been claimed. Ours; the pools of other programs need not have it. */
  release?(item: string | WorkItem): Promise<void>;
  /** Items that a claim could get now. */
  size(): Promise<number>;
  /** Frees what is claimed here in this worker's name, by any process; each counts as a failed try. */
  releaseByWorker(worker_id: string): Promise<number>;
}

export interface WorkBackend {
  /** Always the same object for the same name. */
  pool(name: string): WorkPool;
  /** Releases what is still claimed, with its try, and closes the store. */
  close(): Promise<void>;
}

const HANDLER = 'item';
const PUSH: ReadonlySet<string> = new Set(['max_retries']);
const DEFAULT_MAX_RETRIES = 3;
const MOST_RETRIES = 32_767;
/** A failed item is claimable again at once. */
const AT_ONCE = { baseMs: 0 } as const;

export async function createWorkBackend(config: BackendConfig, options: ManualOptions = {}): Promise<WorkBackend> {
  return new EngineWorkBackend(await openManual(storeUrl(config, 'work'), options));
}

class EngineWorkBackend implements WorkBackend {
  readonly #manual: Manual;
  readonly #rows: WorkerRows;
  readonly #pools = new Map<string, EngineWorkPool>();

  constructor(manual: Manual) {
    this.#manual = manual;
    this.#rows = new WorkerRows(manual, [HANDLER]);
  }

  pool(name: string): WorkPool {
    const known = this.#pools.get(name);
    if (known !== undefined) return known;
    const pool = new EngineWorkPool(this.#manual, this.#rows, name);
    this.#pools.set(name, pool);
    return pool;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.giveBack()));
    await this.#rows.close();
    await this.#manual.close();
  }
}

class EngineWorkPool implements WorkPool {
  readonly #manual: Manual;
  readonly #rows: WorkerRows;
  readonly #name: string;
  /** The newest claim of each item; the attempt in it is the token. */
  readonly #claims = new Map<string, Grant>();
  readonly #claimOf = new WeakMap<WorkItem, Grant>();

  constructor(manual: Manual, rows: WorkerRows, name: string) {
    this.#manual = manual;
    this.#rows = rows;
    this.#name = name;
  }

  async push(item: unknown, options: { readonly max_retries?: number } = {}): Promise<string> {
    checkOptions('push options', options, PUSH);
    // Zero retries and one try are the same: the first failure is the last.
    const maxAttempts = Math.max(1, whole('max_retries', options.max_retries ?? DEFAULT_MAX_RETRIES, 0, MOST_RETRIES));
    const { engine } = this.#manual;
    const pushed = await engine.push({ queue: this.#name, handler: HANDLER, input: item, maxAttempts, retry: AT_ONCE });
    return String(pushed.task);
  }

  async claim(worker_id: string): Promise<WorkItem | null> {
    const { leases } = this.#manual;
    if (leases.size >= MOST_LEASES) {
      throw fault('OVERLOADED', { problem: `this process holds ${MOST_LEASES} claims and settles none` });
    }
    const worker = await this.#rows.numberOf(worker_id);
    const grant = await this.#next(worker);
    if (grant === undefined) return null;
    leases.hold(grant, worker);
    const item: WorkItem = {
      id: String(grant.task),
      data: JSON.parse(grant.payload) as unknown,
      claimed_by: worker_id,
      attempts: grant.tries,
      max_retries: grant.maxTries,
    };
    this.#claims.set(item.id, grant);
    this.#claimOf.set(item, grant);
    return item;
  }

  async complete(item: string | WorkItem, result?: unknown): Promise<void> {
    await this.#settle(item, (grant) => this.#manual.engine.complete(grant, result));
  }

  async fail(item: string | WorkItem, error?: unknown): Promise<void> {
    await this.#settle(item, (grant) => this.#manual.engine.fail(grant, error ?? 'the worker gave no reason'));
  }

  async release(item: string | WorkItem): Promise<void> {
    await this.#settle(item, (grant) => this.#manual.engine.release(grant));
  }

  async size(): Promise<number> {
    return (await this.#manual.engine.stats(this.#name)).ready;
  }

  async releaseByWorker(worker_id: string): Promise<number> {
    const workers = await this.#manual.engine.workers.list();
    const numbers = new Set(workers.filter(({ name }) => name === worker_id).map(({ worker }) => worker));
    if (numbers.size === 0) return 0;
    const theirs = (await this.#manual.running(this.#name)).filter(
      ({ handler, holder }) => handler === HANDLER && holder !== undefined && numbers.has(holder),
    );
    const freed = await this.#manual.free(theirs, `the claims of worker ${worker_id} were released`);
    for (const lease of theirs) this.#manual.leases.drop(lease);
    return freed;
  }

  /** Releases all claims: nobody could settle them after the close. */
  async giveBack(): Promise<void> {
    const { engine, leases } = this.#manual;
    const claims = [...this.#claims.values()];
    this.#claims.clear();
    await Promise.all(
      claims.map(async (grant) => {
        leases.drop(grant);
        await engine.release(grant).catch((error: unknown) => {
          if (!isEngineError(error, 'LEASE_LOST')) throw error;
        });
      }),
    );
  }

  async #next(worker: number): Promise<Grant | undefined> {
    const first = await this.#take(worker);
    if (first !== undefined) return first;
    // An ephemeral worker ends when the pool is empty, so that must be true: another process may have pushed a moment ago.
    this.#manual.engine.hint();
    const second = await this.#take(worker);
    if (second !== undefined) return second;
    // There may be no other process to reap what dead workers have left.
    return (await this.#manual.reap()) > 0 ? this.#take(worker) : undefined;
  }

  async #take(worker: number): Promise<Grant | undefined> {
    const queues = [this.#name];
    return (await this.#manual.engine.claim({ worker, max: 1, queues, handlers: [HANDLER] }))[0];
  }

  async #settle(item: string | WorkItem, settle: (grant: Grant) => Promise<unknown>): Promise<void> {
    const grant = this.#grantOf(item);
    const id = String(grant.task);
    try {
      await settle(grant);
    } catch (error) {
      // Anything else can be tried again under the same claim.
      if (isEngineError(error, 'LEASE_LOST')) this.#forget(id, grant);
      throw error;
    }
    this.#forget(id, grant);
  }

  #forget(id: string, grant: Grant): void {
    this.#manual.leases.drop(grant);
    if (this.#claims.get(id) === grant) this.#claims.delete(id);
  }

  #grantOf(item: string | WorkItem): Grant {
    const grant = typeof item === 'string' ? this.#claims.get(item) : this.#claimOf.get(item);
    if (grant !== undefined) return grant;
    throw fault(
      'LEASE_LOST',
      { task: typeof item === 'string' ? item.slice(0, 40) : undefined },
      { hint: 'Settle an item once, through the pool object that claimed it.' },
    );
  }
}
