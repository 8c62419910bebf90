import type { World } from '../../core/world.ts';
import type { Database } from './connect/database.ts';

/**
 * Names one flush among those of all stores, so that a repeat of it is recognized. Rows with these numbers are in the
 * table `flight`.
 */
export interface FlushId {
  readonly store: number;
  readonly n: number;
}

/** A flush is repeated within the deadline of its call, 15 s. A try that hangs is cut off after 30 s. */
const KEPT_MS = 90_000;
const STEP_MS = 10_000;

/** Numbers the flushes of one store, and removes the numbers of those that can no longer be repeated. */
export class PushDedup {
  readonly #world: World;
  readonly #database: Database;
  readonly #store: number;
  /** The number that was reached at each time, oldest first. */
  readonly #reached: { readonly at: number; readonly n: number }[] = [];
  #last = 0;

  constructor(world: World, database: Database, store: number) {
    this.#world = world;
    this.#database = database;
    this.#store = store;
  }

  next(): FlushId {
    const n = ++this.#last;
    const now = this.#world.clock.monotonic();
    const newest = this.#reached.at(-1);
    if (newest === undefined || now - newest.at >= STEP_MS) {
      this.#reached.push({ at: now, n });
      this.#clear(now - KEPT_MS);
    }
    return { store: this.#store, n };
  }

  #clear(before: number): void {
    const over = this.#reached.findLastIndex(({ at }) => at <= before);
    if (over < 0) return;
    const [{ n } = { n: 0 }] = this.#reached.splice(0, over + 1).slice(-1);
    // Nothing waits for it, and the pruner removes what it leaves.
    void this.#database.run((session) => session.rows('flightsOver', [this.#store, n])).catch(() => {});
  }
}
