import type { CounterChange, LimitCounter } from '../../core/limits/limit.ts';
import { type SlotRow, slotOf } from '../rows/limit-counter-rows.ts';
import type { NamedUse } from '../store.ts';
import type { Prepared } from './file/connection.ts';

/**
 * What one transaction gives back to the slots of limits: written once, at its end or before a claim reads them, so that a
 * flush of settles costs one update a slot.
 */
export class LimitCounters {
  readonly #back = new Map<number, number>();

  give(uses: readonly NamedUse[]): void {
    for (const { slot, weight } of uses) this.#back.set(slot, (this.#back.get(slot) ?? 0) + weight);
  }

  read(sql: Prepared, slots: Iterable<number>): ReadonlyMap<number, LimitCounter> {
    this.write(sql);
    const read = new Map<number, LimitCounter>();
    for (const id of slots) {
      const row = sql.get('slotGet').get(id) as SlotRow | undefined;
      if (row !== undefined) read.set(id, slotOf(row));
    }
    return read;
  }

  take(sql: Prepared, changes: readonly CounterChange[]): void {
    for (const { slot, active, tat, costTat } of changes) sql.get('slotTake').run(active, tat, costTat, slot);
  }

  write(sql: Prepared): void {
    for (const [slot, n] of this.#back) sql.get('slotGive').run(n, slot);
    this.#back.clear();
  }
}
