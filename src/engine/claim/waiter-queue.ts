import { byTurn, type Waiter } from '../../core/placement/rank.ts';

/**
 * Those that wait, the best first. An array that is kept in order: who comes is mostly the last of its rank, and to put somebody into
 * the middle of two thousand costs a microsecond. No two may be of the same turn.
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

  /** Nobody may come or go meanwhile. */
  [Symbol.iterator](): Iterator<T> {
    return this.#line[Symbol.iterator]();
  }

  /** Where it is, or would be. */
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
