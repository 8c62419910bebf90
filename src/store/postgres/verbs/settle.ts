import type { Lease } from '../../../core/lease.ts';
import type { ReturnItem, SettleAnswer, SettleItem } from '../../store.ts';
import { booleans, numbers, texts } from '../arrays.ts';
import { isLong, OUTCOMES, type Outcome, reasonCode, stateCode } from '../codes.ts';
import type { Session } from '../database.ts';

const idsOf = (items: readonly Lease[]): string => numbers(items.map(({ task }) => task));
const attemptsOf = (items: readonly Lease[]): string => numbers(items.map(({ attempt }) => attempt));

/** Each item is answered by what its own row was: neighbours do not matter. */
export async function settleTasks(session: Session, items: readonly SettleItem[]): Promise<readonly SettleAnswer[]> {
  const done = await settle(session, items);
  if (done.size === items.length) return items.map(() => 'done');
  const missed = items.filter(({ task }) => !done.has(task));
  const ended = await outcomesOf(session, missed);
  const told = new Set<number>();
  return items.map((item) => {
    // The same lease twice in one batch: the first did it.
    if (done.has(item.task) && !told.has(item.task)) {
      told.add(item.task);
      return 'done';
    }
    const outcome =
      ended.get(item.task) ?? (done.has(item.task) ? items.find(({ task }) => task === item.task)?.to : undefined);
    return outcome === item.to ? 'repeated' : 'lost';
  });
}

/** Which tasks this call has ended. */
async function settle(session: Session, items: readonly SettleItem[]): Promise<ReadonlySet<unknown>> {
  const rows = await session.rows('settle', [
    idsOf(items),
    attemptsOf(items),
    numbers(items.map(({ to }) => stateCode(to))),
    numbers(items.map(({ reason }) => reasonCode(reason))),
    texts(items.map(({ result }) => result)),
    booleans(items.map(({ result }) => isLong(result))),
  ]);
  return new Set(rows.map(([id]) => id));
}

/** How these very attempts ended before: the caller repeats itself because its answer was lost, or comes too late. */
async function outcomesOf(session: Session, items: readonly Lease[]): Promise<ReadonlyMap<number, Outcome>> {
  if (items.length === 0) return new Map();
  const rows = await session.rows('endedAs', [idsOf(items), attemptsOf(items)]);
  return new Map(rows.map(([task, outcome]) => [task as number, OUTCOMES[outcome as number] as Outcome]));
}

export interface Returned {
  readonly answers: readonly SettleAnswer[];
  /** Tasks that are ready again, with their lanes. */
  readonly ready: readonly { readonly task: number; readonly lane: number }[];
}

export async function returnTasks(session: Session, items: readonly ReturnItem[]): Promise<Returned> {
  const rows = (await session.rows('return', [
    idsOf(items),
    attemptsOf(items),
    numbers(items.map(({ change }) => OUTCOMES.indexOf(change))),
    numbers(items.map(({ delayMs }) => delayMs)),
    numbers(items.map(({ refund }) => (refund ? 1 : 0))),
    numbers(items.map(({ bounced }) => (bounced ? 1 : 0))),
    texts(items.map(({ error }) => error)),
  ])) as readonly (readonly [number, number, number])[];
  const ready = rows.flatMap(([task, lane, state]) => (state === 0 ? [{ task, lane }] : []));
  const done = new Set(rows.map(([task]) => task));
  const missed = items.filter(({ task }) => !done.has(task));
  if (missed.length === 0 && done.size === items.length) return { answers: items.map(() => 'done'), ready };
  const cancelled = await cancel(session, missed);
  const ended = await outcomesOf(session, items);
  const told = new Set<number>();
  const answers = items.map((item): SettleAnswer => {
    const first = !told.has(item.task);
    told.add(item.task);
    if (first && done.has(item.task)) return 'done';
    if (first && cancelled.has(item.task)) return 'cancelled';
    const outcome = ended.get(item.task);
    return outcome === item.change ? 'repeated' : outcome === 'cancelled' ? 'cancelled' : 'lost';
  });
  return { answers, ready };
}

/** What was asked to stop meanwhile ends as cancelled; what went wrong is kept with it. */
async function cancel(session: Session, items: readonly ReturnItem[]): Promise<ReadonlySet<unknown>> {
  const rows = await session.rows('cancelWanted', [idsOf(items), attemptsOf(items)]);
  const wanted = new Set(rows.map(([task]) => task));
  if (wanted.size === 0) return wanted;
  const ends = items
    .filter(({ task }) => wanted.has(task))
    .map(({ task, attempt, error }): SettleItem => {
      return { task, attempt, to: 'cancelled', reason: 'requested', result: error };
    });
  return settle(session, ends);
}
