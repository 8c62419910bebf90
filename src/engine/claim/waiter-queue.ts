import { byTurn, type Waiter } from '../../core/placement/rank.ts';

/**
 * Waiting claims, the best first. A sorted array: a new waiter is mostly the last of its rank, and an insert into the middle of two
 * thousand costs a microsecond. No two waiters may have the same `since`.
 */
export class WaiterQueue<T extends Waiter> implements Iterable<T> {
  readonly #waiters: T[] = [];

  get size(): number {
    return this.#waiters.length;
  }

  add(waiter: T): void {
    this.#waiters.splice(this.#indexOf(waiter), 0, waiter);
  }

  delete(waiter: T): void {
    const at = this.#indexOf(waiter);
    if (this.#waiters[at] === waiter) this.#waiters.splice(at, 1);
  }

  /** Nothing may be added or deleted during the iteration. */
  [Symbol.iterator](): Iterator<T> {
    return this.#waiters[Symbol.iterator]();
  }

  /** Its index, or where it would be inserted. */
  #indexOf(waiter: T): number {
    let [from, to] = [0, this.#waiters.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (byTurn(this.#waiters[middle] as T, waiter) < 0) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}
