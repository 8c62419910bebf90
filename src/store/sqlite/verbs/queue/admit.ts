import { limitOf, ownUses } from '../../../rows/limit-counter-rows.ts';
import type { LimitRefusal, NamedUse } from '../../../store.ts';
import type { Transaction } from '../../file/transaction.ts';
import type { DefRow } from '../admin/limit.ts';
import { cancelTasks } from './cancel.ts';

/**
 * What the limits of a new task say to it: nothing for most, which wait for room. Otherwise it is refused, or it takes the
 * place of others. What a limit is about is the key, or the total of a task that has none.
 */
export function admit(tx: Transaction, uses: readonly NamedUse[]): LimitRefusal | undefined {
  if (uses.length === 0) return undefined;
  const refused = refusalOf(tx, uses, new Map());
  if (refused === undefined) makeRoom(tx, uses);
  return refused;
}

/** A look only. `ahead` says for each counter how many tasks of this call come before it, and grows if the task is not refused. */
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

/** Ends what gives way to a new task. */
export function makeRoom(tx: Transaction, uses: readonly NamedUse[]): void {
  for (const { name, counter, weight } of ownUses(uses)) {
    const strategy = ruleOf(tx, name)?.strategy ?? 'queue';
    // Those that go may have been made in the same transaction, which is told before.
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

/** One transaction ends no more than so many. */
const REPLACED = 500;

/** All of its room is taken or spoken for. */
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
