/** Pools of workers for programs, on a store or on a node. */
import { isEngineError } from '../../core/errors.ts';
import type { PoolInput } from '../../core/pools/pool.ts';
import type { Caller } from '../../operate/operator.ts';
import type {
  PoolCheckedView,
  PoolDecisionView,
  PoolDetailView,
  PoolTicketView,
  PoolView,
} from '../../operate/views.ts';
import type { RequestOf } from '../../protocol/paths.ts';

export type PoolOptions = PoolInput & {
  /** The revision that was read, 0 for none: refused with `CONFLICT` if somebody has changed the pool since. */
  readonly ifRevision?: number | undefined;
};

interface Page {
  readonly limit?: number | undefined;
  /** Only those below this `n`. */
  readonly before?: number | undefined;
}

/** Pools by name: how many workers there should be, and how they are started. */
export interface AppPools {
  list(): Promise<readonly PoolDetailView[]>;
  /** With what a check would find and do now. Undefined: there is no such pool. */
  get(name: string): Promise<PoolDetailView | undefined>;
  /** Makes a pool, or replaces the one of its name. A program may call it at each start. */
  put(name: string, options?: PoolOptions): Promise<PoolView>;
  /** Its workers stay; those still to come are refused. */
  remove(name: string): Promise<void>;
  /** Starts the workers that are missing, or sends idle ones home. Live processes do so by themselves. */
  check(name: string, options?: { readonly dryRun?: boolean | undefined }): Promise<PoolCheckedView>;
  /** What was decided and why, the newest first. */
  decisions(name: string, page?: Page): Promise<readonly PoolDecisionView[]>;
  /** The last starts of workers, the newest first. */
  tickets(name: string, page?: Page): Promise<readonly PoolTicketView[]>;
}

export class CalledPools implements AppPools {
  readonly #caller: () => Promise<Caller>;

  /** A program that has no pool need not load what answers it. */
  constructor(caller: () => Promise<Caller>) {
    this.#caller = caller;
  }

  async list(): Promise<readonly PoolDetailView[]> {
    return (await (await this.#caller()).call('listPools')).pools;
  }

  async get(name: string): Promise<PoolDetailView | undefined> {
    try {
      return await (await this.#caller()).call('getPool', { params: { name } });
    } catch (error) {
      if (isEngineError(error, 'NOT_FOUND')) return undefined;
      throw error;
    }
  }

  async put(name: string, options: PoolOptions = {}): Promise<PoolView> {
    // The shape of the route says what is mutable in it; nothing changes it.
    const body = { name, ...options } as unknown as RequestOf<'putPool'>;
    return (await this.#caller()).call('putPool', { body });
  }

  async remove(name: string): Promise<void> {
    await (await this.#caller()).call('removePool', { params: { name } });
  }

  async check(
    name: string,
    { dryRun = false }: { readonly dryRun?: boolean | undefined } = {},
  ): Promise<PoolCheckedView> {
    return (await this.#caller()).call('checkPool', { params: { name }, body: { dryRun } });
  }

  async decisions(name: string, page: Page = {}): Promise<readonly PoolDecisionView[]> {
    return (await (await this.#caller()).call('listPoolDecisions', { params: { name }, query: given(page) })).decisions;
  }

  async tickets(name: string, page: Page = {}): Promise<readonly PoolTicketView[]> {
    return (await (await this.#caller()).call('listPoolTickets', { params: { name }, query: given(page) })).tickets;
  }
}

function given({ limit, before }: Page): { readonly limit?: number; readonly before?: number } {
  return { ...(limit === undefined ? {} : { limit }), ...(before === undefined ? {} : { before }) };
}
