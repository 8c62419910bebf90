import { limitOf, ownUses } from '../../slot-rows.ts';
import type { NamedUse } from '../../store.ts';
import type { Transaction } from '../transaction.ts';
import { cancelTasks } from './cancel.ts';
import type { DefRow } from './limit.ts';

export interface Refused {
  readonly limit: string;
  readonly key: string;
}

/**
 * What the limits of a new task say to it: nothing for most, which wait for room. Otherwise it is refused, or it takes the
 * place of others. What a limit is about is the key, or the total of a task that has none.
 */
export function admit(tx: Transaction, uses: readonly NamedUse[]): Refused | undefined {
  for (const { name, key, slot, weight } of ownUses(uses)) {
    const def = tx.sql.get('limitFind').get(name) as DefRow | undefined;
    if (def === undefined || def.body === null) continue;
    const { strategy, backlog } = limitOf(def.body);
    if (backlog !== undefined && waiting(tx, slot, backlog) >= backlog) return { limit: name, key };
    if (strategy === 'replace_pending') {
      cancelTasks(tx, waitingTasks(tx, slot), 'replaced');
    } else if (strategy !== 'queue' && isFull(tx, slot, weight)) {
      if (strategy === 'refuse') return { limit: name, key };
      const oldest = oldestOf(tx, 'slotRunning', slot) ?? oldestOf(tx, 'slotOldest', slot);
      if (oldest !== null) cancelTasks(tx, [oldest], 'replaced');
    }
  }
  return undefined;
}

/** One transaction ends no more than so many. */
const REPLACED = 500;

/** All of its room is taken or spoken for. */
function isFull(tx: Transaction, id: number, weight: number): boolean {
  const slot = tx.slots.read(tx.sql, [id]).get(id);
  if (slot?.cap === undefined) return false;
  return slot.active + (waiting(tx, id, slot.cap) + 1) * weight > slot.cap;
}

function waiting(tx: Transaction, slot: number, most: number): number {
  return (tx.sql.get('slotWaiting').get(slot, most) as { n: number }).n;
}

function waitingTasks(tx: Transaction, slot: number): readonly number[] {
  return (tx.sql.get('slotReady').all(slot, REPLACED) as unknown as { id: number }[]).map(({ id }) => id);
}

function oldestOf(tx: Transaction, name: 'slotOldest' | 'slotRunning', slot: number): number | null {
  return (tx.sql.get(name).get(slot) as { id: number | null }).id;
}
