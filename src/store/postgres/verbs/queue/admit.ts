import type { LimitCounter } from '../../../../core/limits/limit.ts';
import { type CounterRow, counterOf, limitOf, ownUses } from '../../../rows/limit-counter-rows.ts';
import type { LimitRefusal, NamedUse } from '../../../store.ts';
import { numbers, texts } from '../../arrays.ts';
import type { Session, Try } from '../../connect/database.ts';
import type { DefRow } from '../admin/limit.ts';
import { noneWoken } from '../trees/countdown.ts';
import { cancelTasks } from './cancel.ts';

/** The most tasks that one transaction ends. */
const REPLACED = 500;

/** The limits among these that may refuse a new task or end others for it. Most let it wait for room. */
export async function admittingLimits(session: Session, names: readonly string[]): Promise<ReadonlySet<string>> {
  if (names.length === 0) return new Set();
  const rows = await session.all<DefRow>('limitFind', [texts(names)]);
  const says = ({ body }: DefRow): boolean => {
    if (body === null) return false;
    const { strategy, backlog } = limitOf(body);
    return strategy !== 'queue' || backlog !== undefined;
  };
  return new Set(rows.filter(says).map(({ name }) => name));
}

/**
 * Refuses a new task, or lets it replace others, as its limits say. In the transaction of the push and under the locks
 * of the counters, so that concurrent pushes see each other.
 */
export async function admit(
  session: Session,
  uses: readonly NamedUse[],
  tried: Try,
): Promise<LimitRefusal | undefined> {
  const own = ownUses(uses);
  const rows = await session.all<CounterRow & { readonly now: number }>('slotLock', [
    numbers(own.map(({ counter }) => counter)),
  ]);
  for (const use of own) {
    const row = rows.find(({ id }) => id === use.counter);
    if (row === undefined || row.body === null) continue;
    const { strategy, backlog } = limitOf(row.body);
    const { name: limit, key, counter, weight } = use;
    if (backlog !== undefined && (await waiting(session, counter, backlog)) >= backlog) return { limit, key };
    if (strategy === 'replace_pending') {
      const all = await session.all<{ id: number }>('slotReady', [counter, REPLACED]);
      const waits = all.map(({ id }) => id).sort((a, b) => a - b);
      await cancelTasks(session, waits, tried, noneWoken(), 'replaced');
    } else if (strategy !== 'queue' && (await isFull(session, counterOf(row), weight))) {
      if (strategy === 'refuse') return { limit, key };
      const oldest =
        (await oldestOf(session, 'slotRunning', counter)) ?? (await oldestOf(session, 'slotOldest', counter));
      if (oldest !== null) await cancelTasks(session, [oldest], tried, noneWoken(), 'replaced');
    }
  }
  return undefined;
}

/** All room is taken, or waiting tasks will take it. */
async function isFull(session: Session, counter: LimitCounter, weight: number): Promise<boolean> {
  if (counter.cap === undefined) return false;
  return counter.active + ((await waiting(session, counter.id, counter.cap)) + 1) * weight > counter.cap;
}

async function waiting(session: Session, counter: number, most: number): Promise<number> {
  const [row] = await session.all<{ n: number }>('slotWaiting', [counter, most]);
  return row?.n ?? 0;
}

async function oldestOf(session: Session, name: 'slotOldest' | 'slotRunning', counter: number): Promise<number | null> {
  const [row] = await session.all<{ id: number | null }>(name, [counter]);
  return row?.id ?? null;
}
