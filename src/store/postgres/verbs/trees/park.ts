import { stateCode } from '../../../codes.ts';
import { eachChannel, othersText, type WaitRow, waitOf } from '../../../rows/wait-rows.ts';
import type { WaitRecord } from '../../../store.ts';
import { awaitedBy, type Need, needOf, type ParkItem, wokenBy } from '../../../turns.ts';
import { inOrder, numbers, texts } from '../../arrays.ts';
import { lockChannels } from '../../connect/channel-locks.ts';
import type { Session } from '../../connect/database.ts';
import type { Lanes } from '../../lanes.ts';
import { cancelAsked, leaseName, meteredIn, outcomesOf } from '../queue/settle.ts';
import { giveBackAll } from './budget.ts';
import type { Woken } from './countdown.ts';

export type ParkAnswer =
  | { readonly went: 'lost' }
  | { readonly went: 'parked' | 'cancelled' }
  | { readonly went: 'woken'; readonly body: string | undefined; readonly key?: string | undefined }
  /** It would wait for ever. */
  | { readonly went: 'circle' };

/** The decision about a task. Undefined: no such attempt runs, or it was asked to stop. */
export type Parked = ParkAnswer | undefined;

/**
 * Batches of items that can share a transaction, by their places, with no task twice in one. A park for children goes
 * alone: two that lock the same children and their own tasks might wait for each other.
 */
export function parkBatches(items: readonly ParkItem[]): readonly (readonly number[])[] {
  const seen = new Set<number>();
  const together: number[] = [];
  const alone: number[][] = [];
  for (const [i, { task, children }] of items.entries()) {
    if (children === undefined && !seen.has(task)) together.push(i);
    else alone.push([i]);
    seen.add(task);
  }
  return together.length === 0 ? alone : [together, ...alone];
}

/** All of them wait only for a time: one statement is enough. */
export const areTimers = (items: readonly ParkItem[]): boolean =>
  items.every(({ channel, children }) => channel === undefined && children === undefined);

/** One statement. It has no answer for metered tasks. */
export async function parkTimers(session: Session, items: readonly ParkItem[]): Promise<ReadonlyMap<number, Parked>> {
  const parked = await park(session, inOrder(items), new Map(), 'parkTimers');
  return new Map(parked.map(([task]) => [task, { went: 'parked' }]));
}

/** In a transaction. Locks are taken in this order everywhere: channels, children, own tasks, limits, budgets. */
export async function parkTasks(
  session: Session,
  unordered: readonly ParkItem[],
  woken: Woken,
): Promise<ReadonlyMap<number, Parked>> {
  const items = inOrder(unordered);
  const answers = new Map<number, Parked>();
  await lockChannels(
    session,
    items.flatMap(({ channel }) => channel ?? []),
  );
  const states = await lockChildren(session, items);
  const running = await lockOwn(session, items, answers);
  for (const item of running) {
    const awaited = awaitedBy({ ...item, entries: [], then: { ...item, go: 'park' } }, () => undefined);
    // Most children run or are ready, and are not followed.
    const followed = awaited.filter((one) => one === item.task || states.get(one) === stateCode('waiting'));
    if (await closesCircle(session, item.task, followed)) answers.set(item.task, { went: 'circle' });
  }
  await beginWaits(session, running, new Set(states.keys()), answers, woken);
  return answers;
}

/** Decides about the items that have no answer yet. What they wait for and their own tasks are locked. */
export async function beginWaits(
  session: Session,
  items: readonly ParkItem[],
  unfinished: ReadonlySet<number>,
  answers: Map<number, Parked>,
  woken: Woken,
): Promise<void> {
  const isOpen = ({ task }: ParkItem): boolean => !answers.has(task);
  await takeSignals(session, items.filter(isOpen), answers);
  const needs = new Map<number, Need>();
  for (const item of items.filter(isOpen)) {
    if (item.children === undefined) continue;
    const need = needOf(item.children, item.need, (child) => unfinished.has(child));
    if (need.ends <= 0) answers.set(item.task, { went: 'woken', body: undefined });
    else needs.set(item.task, need);
  }
  const waiting = items.filter(isOpen);
  await watchChildren(session, waiting, needs);
  const parked = await park(session, waiting, needs);
  for (const [task] of parked) answers.set(task, { went: 'parked' });
  await giveBackAll(session, meteredIn(parked), woken);
}

/** Parks tasks whose draw was refused, whatever was sent to their channel before. They have nothing left to give back. */
export async function parkForBudget(session: Session, items: readonly ParkItem[]): Promise<void> {
  await park(session, inOrder(items), new Map());
}

/**
 * Whether the task would wait for itself, given those of the tasks that it would wait for which wait themselves. Locks of rows keep apart
 * two waits that share a task. The two that close a circle of four together share none: each finds the other one's task running. So of
 * all waits for tasks that wait, one at a time looks, and the next sees what it has written.
 */
export async function closesCircle(session: Session, task: number, awaited: readonly number[]): Promise<boolean> {
  if (awaited.length === 0) return false;
  await session.rows('circleLock', []);
  return (await session.rows('parkCircle', [numbers(awaited), task])).length > 0;
}

/** The children that have not ended, and their states. They are locked, so none of them ends before this transaction does. */
async function lockChildren(session: Session, items: readonly ParkItem[]): Promise<ReadonlyMap<number, number>> {
  const children = new Set(items.flatMap((item) => item.children ?? []));
  if (children.size === 0) return new Map();
  // A child that is not found has ended: the statement that ends a task moves it out of this table.
  const rows = await session.rows('depLock', [numbers([...children])]);
  return new Map(rows as readonly (readonly [number, number])[]);
}

/** The items whose attempt runs and was not asked to stop. Fills in the answers of an earlier try that had taken a signal. */
async function lockOwn(
  session: Session,
  items: readonly ParkItem[],
  answers: Map<number, Parked>,
): Promise<readonly ParkItem[]> {
  const rows = await session.all<{ id: number; taken: boolean; late: boolean; body: string | null }>('parkLook', [
    numbers(items.map(({ task }) => task)),
    numbers(items.map(({ attempt }) => attempt)),
    texts(items.map(({ key }) => key)),
    numbers(items.map(({ nth = 0 }) => nth)),
  ]);
  const byId = new Map(rows.map((row) => [row.id, row]));
  return items.filter(({ task, channel }) => {
    const row = byId.get(task);
    if (row?.late) answers.set(task, { went: 'lost' });
    else if (row?.taken && channel !== undefined) answers.set(task, { went: 'woken', body: row.body ?? undefined });
    return row !== undefined;
  });
}

/**
 * Takes signals that came before, the oldest of each channel first. They are stored with the wait, so that the next
 * attempt finds them after a crash. A decision is made when it is asked for: whatever was kept under its channel is none.
 */
async function takeSignals(session: Session, all: readonly ParkItem[], answers: Map<number, Parked>): Promise<void> {
  const several = all.filter(({ others = [] }) => others.length > 0);
  for (const item of several) await takeOneOf(session, item, answers);
  const items = all.filter(({ form, others = [] }) => form === undefined && others.length === 0);
  const wanted = [...Map.groupBy(items, ({ channel }) => channel)].filter(([channel]) => channel !== undefined);
  if (wanted.length === 0) return;
  const rows = await session.all<{ id: number; channel: string; body: string }>('signalTake', [
    texts(wanted.map(([channel]) => channel)),
    numbers(wanted.map(([, some]) => some.length)),
  ]);
  if (rows.length === 0) return;
  const kept = Map.groupBy(
    rows.toSorted((a, b) => a.id - b.id),
    ({ channel }) => channel,
  );
  const taken = items.flatMap((item) => {
    const signal = kept.get(item.channel ?? '')?.shift();
    return signal === undefined || item.channel === undefined ? [] : [{ ...item, body: signal.body }];
  });
  for (const { task, body } of taken) answers.set(task, { went: 'woken', body });
  await session.rows('waitTaken', [...columns(taken), texts(taken.map(({ body }) => body))]);
}

/** Such a park is alone in its transaction. */
async function takeOneOf(session: Session, item: ParkItem, answers: Map<number, Parked>): Promise<void> {
  for (const { others: _, ...one } of eachChannel(item)) {
    if (one.form !== undefined) continue;
    const alone = new Map<number, Parked>();
    await takeSignals(session, [one], alone);
    const taken = alone.get(item.task);
    if (taken?.went !== 'woken') continue;
    answers.set(item.task, wokenBy(item, { key: one.key, body: taken.body }));
    return;
  }
}

async function watchChildren(
  session: Session,
  items: readonly ParkItem[],
  needs: ReadonlyMap<number, Need>,
): Promise<void> {
  const edges = items.flatMap(({ task, attempt }) =>
    (needs.get(task)?.open ?? []).map((up) => ({ up, task, attempt })),
  );
  if (edges.length === 0) return;
  await session.rows('depWatch', [numbers([...new Set(edges.map(({ up }) => up))])]);
  await session.rows('parkDep', [
    numbers(edges.map(({ up }) => up)),
    numbers(edges.map(({ task }) => task)),
    numbers(edges.map(({ attempt }) => attempt)),
  ]);
}

/** Returns the tasks that are parked, and whether they are metered. */
async function park(
  session: Session,
  items: readonly ParkItem[],
  needs: ReadonlyMap<number, Need>,
  statement: 'park' | 'parkTimers' = 'park',
): Promise<readonly (readonly [task: number, metered: boolean])[]> {
  if (items.length === 0) return [];
  const rows = await session.rows(statement, [
    ...columns(items),
    numbers(items.map(({ timeoutMs }) => timeoutMs)),
    numbers(items.map(({ task }) => needs.get(task)?.ends ?? 0)),
    texts(items.map(othersText)),
  ]);
  return rows as unknown as readonly (readonly [number, boolean])[];
}

function columns(items: readonly ParkItem[]): readonly string[] {
  return [
    numbers(items.map(({ task }) => task)),
    numbers(items.map(({ attempt }) => attempt)),
    texts(items.map(({ key }) => key)),
    texts(items.map(({ channel }) => channel)),
    texts(items.map(({ form }) => form)),
    numbers(items.map(({ nth = 0 }) => nth)),
  ];
}

/**
 * Answers items that the park had no answer for: asked to stop, parked by an earlier try, or lost. Without `woken` it
 * has no answer for tasks that were asked to stop and that something waits for.
 */
export async function parkedBefore(
  session: Session,
  lanes: Lanes,
  items: readonly ParkItem[],
  woken?: Woken,
): Promise<readonly Parked[]> {
  const asked = await cancelAsked(session, items, lanes, woken);
  const ended = await outcomesOf(session, items);
  return items.map((item) => {
    const name = leaseName(item);
    if (asked.has(name)) return asked.get(name) && { went: 'cancelled' };
    const outcome = ended.get(name);
    return outcome === 'parked' || outcome === 'cancelled' ? { went: outcome } : { went: 'lost' };
  });
}

export async function getWait(session: Session, task: number): Promise<WaitRecord | undefined> {
  const [row] = await session.all<WaitRow>('waitGet', [task]);
  return row && waitOf(row);
}

export async function listWaits(session: Session, limit: number): Promise<readonly WaitRecord[]> {
  return (await session.all<WaitRow>('waitList', [limit])).map(waitOf);
}
