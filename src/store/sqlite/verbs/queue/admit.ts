import { limitOf, ownUses } from '../../../rows/limit-counter-rows.ts';
import type { LimitRefusal, NamedUse } from '../../../store.ts';
import type { Transaction } from '../../file/transaction.ts';
import type { DefRow } from '../admin/limit.ts';
import { cancelTasks } from './cancel.ts';

/**
 * Refuses a new task, or lets it replace others, as its limits say. Most limits let it wait for room. A limit judges by
 * the key, or by the total for a task without a key.
 */
export function admit(tx: Transaction, uses: readonly NamedUse[]): LimitRefusal | undefined {
  if (uses.length === 0) return undefined;
  const refused = refusalOf(tx, uses, new Map());
  if (refused === undefined) makeRoom(tx, uses);
  return refused;
}

/**
 * Reads only. `ahead` says for each counter how many tasks of this call come before it, and grows if the task is not
 * refused.
 */
export function refusalOf(
  tx: Transaction,
  uses: readonly NamedUse[],
  ahead: Map<number, number>,
): LimitRefusal | undefined {
  const own = ownUses(uses);
  for (const { name, key, counter, weight } of own) {
    const limit = ruleOf(tx, name);
    if (limit === undefined) continue;
    const { strategy, backlog } = limit;
    const before = ahead.get(counter) ?? 0;
    if (backlog !== undefined && waiting(tx, counter, backlog) + before >= backlog) return { limit: name, key };
    if (strategy === 'refuse' && isFull(tx, counter, weight, before)) return { limit: name, key };
  }
  for (const { counter } of own) ahead.set(counter, (ahead.get(counter) ?? 0) + 1);
  return undefined;
}

/** Ends the tasks that a new task replaces. */
export function makeRoom(tx: Transaction, uses: readonly NamedUse[]): void {
  for (const { name, counter, weight } of ownUses(uses)) {
    const strategy = ruleOf(tx, name)?.strategy ?? 'queue';
    // The replaced tasks may have been made in this transaction; that event comes first.
    if (strategy !== 'queue' && strategy !== 'refuse') tx.ledger.seal();
    if (strategy === 'replace_pending') {
      cancelTasks(tx, waitingTasks(tx, counter), 'replaced');
    } else if (strategy !== 'queue' && strategy !== 'refuse' && isFull(tx, counter, weight, 0)) {
      const oldest = oldestOf(tx, 'slotRunning', counter) ?? oldestOf(tx, 'slotOldest', counter);
      if (oldest !== null) cancelTasks(tx, [oldest], 'replaced');
    }
  }
}

function ruleOf(tx: Transaction, name: string): ReturnType<typeof limitOf> | undefined {
  const def = tx.sql.get('limitFind').get(name) as DefRow | undefined;
  return def === undefined || def.body === null ? undefined : limitOf(def.body);
}

/** The most tasks that one transaction ends. */
const REPLACED = 500;

/** All room is taken, or waiting tasks will take it. */
function isFull(tx: Transaction, id: number, weight: number, ahead: number): boolean {
  const counter = tx.counters.read(tx.sql, [id]).get(id);
  if (counter?.cap === undefined) return false;
  return counter.active + (waiting(tx, id, counter.cap) + ahead + 1) * weight > counter.cap;
}

function waiting(tx: Transaction, counter: number, most: number): number {
  return (tx.sql.get('slotWaiting').get(counter, most) as { n: number }).n;
}

function waitingTasks(tx: Transaction, counter: number): readonly number[] {
  return (tx.sql.get('slotReady').all(counter, REPLACED) as unknown as { id: number }[]).map(({ id }) => id);
}

function oldestOf(tx: Transaction, name: 'slotOldest' | 'slotRunning', counter: number): number | null {
  return (tx.sql.get(name).get(counter) as { id: number | null }).id;
}
