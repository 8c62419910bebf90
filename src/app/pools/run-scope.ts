import type { HookedRun } from '../../worker/machine/machine-hooks.ts';
import type { Backends } from './open-backends.ts';
import type { WorkItem, WorkPool } from './work-backend.ts';
import type { WorkerLife } from './worker-life.ts';

interface Claim {
  readonly pool: WorkPool;
  readonly item: WorkItem;
}

/** What one run of a machine has of the pools: the backends, the worker that it is, and what it has claimed. */
export class RunScope {
  readonly run: HookedRun;
  readonly parent: RunScope | undefined;
  backends: Promise<Backends> | undefined;
  life: WorkerLife | undefined;
  readonly #claims = new Map<string, Claim>();
  /** Backends of machines within it, whose claims it has now. */
  readonly #kept: Backends[] = [];

  constructor(run: HookedRun, parent: RunScope | undefined) {
    this.run = run;
    this.parent = parent;
  }

  claimed(pool: WorkPool, item: WorkItem): void {
    this.#claims.set(item.id, { pool, item });
  }

  /** A machine within the one that claimed it may settle it too. */
  settled(id: string): void {
    this.#claims.delete(id);
    this.parent?.settled(id);
  }

  /** Needs its backends no longer. */
  async close(): Promise<void> {
    const own = await this.backends?.catch(() => undefined);
    for (const backends of [own, ...this.#kept]) await backends?.release();
  }

  /**
   * What is still claimed when the run is over; `error` is what ended it, if one did. A machine within another one leaves it to that. Else
   * nobody could settle it: a run that was stopped gives it back, one that ended otherwise has failed it.
   */
  async leave(error: string | undefined): Promise<void> {
    const claims = [...this.#claims.values()];
    this.#claims.clear();
    if (error === undefined && this.parent !== undefined) {
      for (const { pool, item } of claims) this.parent.claimed(pool, item);
      // To close them would give the claims back.
      const backends = claims.length === 0 ? undefined : await this.backends;
      if (backends !== undefined) this.parent.#kept.push(backends);
      if (claims.length > 0) this.backends = undefined;
      return;
    }
    const problem = error ?? 'the machine ended without settling it';
    const { aborted } = this.run.stop;
    await Promise.allSettled(
      claims.map(({ pool, item }) =>
        aborted && pool.release !== undefined ? pool.release(item) : pool.fail(item, problem),
      ),
    );
  }
}
