import type { CounterChange, LimitCounter } from '../../core/limits/limit.ts';
import { type CounterRow, counterOf } from '../rows/limit-counter-rows.ts';
import type { NamedUse } from '../store.ts';
import type { Prepared } from './file/connection.ts';

/**
 * Collects what one transaction gives back to the counters of limits. It is written once, at the end or before a claim
 * reads the counters, so that a flush of settles costs one update per counter.
 */
export class LimitCounters {
  /** Made when it is needed: most transactions give nothing back. */
  #back: Map<number, number> | undefined;

  give(uses: readonly NamedUse[]): void {
    if (uses.length === 0) return;
    this.#back ??= new Map();
    for (const { counter, weight } of uses) this.#back.set(counter, (this.#back.get(counter) ?? 0) + weight);
  }

  read(sql: Prepared, counters: Iterable<number>): ReadonlyMap<number, LimitCounter> {
    this.write(sql);
    const read = new Map<number, LimitCounter>();
    for (const id of counters) {
      const row = sql.get('slotGet').get(id) as CounterRow | undefined;
      if (row !== undefined) read.set(id, counterOf(row));
    }
    return read;
  }

  take(sql: Prepared, changes: readonly CounterChange[]): void {
    for (const { counter, active, tat, costTat } of changes) sql.get('slotTake').run(active, tat, costTat, counter);
  }

  write(sql: Prepared): void {
    if (this.#back === undefined) return;
    for (const [counter, n] of this.#back) sql.get('slotGive').run(n, counter);
    this.#back = undefined;
  }
}
