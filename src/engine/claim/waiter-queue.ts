import { byTurn, type Waiter } from '../../core/placement/rank.ts';

/**
 * Waiting claims, the best first. A sorted array: a new waiter is mostly the last of its rank, and an insert into the middle of two
 * thousand costs a microsecond. No two waiters may have the same `since`.
 */
export class WaiterQueue<T extends Waiter> implements Iterable<T> {
  readonly #line: T[] = [];

  get size(): number {
    return this.#line.length;
  }

  add(waiter: T): void {
    this.#line.splice(this.#placeOf(waiter), 0, waiter);
  }

  delete(waiter: T): void {
    const at = this.#placeOf(waiter);
    if (this.#line[at] === waiter) this.#line.splice(at, 1);
  }

  /** Nothing may be added or deleted during the iteration. */
  [Symbol.iterator](): Iterator<T> {
    return this.#line[Symbol.iterator]();
  }

  /** Its index, or where it would be inserted. */
  #placeOf(waiter: T): number {
    let [from, to] = [0, this.#line.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (byTurn(this.#line[middle] as T, waiter) < 0) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}
