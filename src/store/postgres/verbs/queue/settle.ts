import { isCut } from '../../../../core/limits/budget.ts';
import type { Lease } from '../../../../core/task/lease.ts';
import type { FinalState } from '../../../../core/task/task.ts';
import { fitsInline, OUTCOMES, type Outcome, reasonCode, stateCode, stateOf } from '../../../codes.ts';
import type { ReturnItem, SettleAnswer, SettleItem } from '../../../store.ts';
import { booleans, inOrder, numbers, texts } from '../../arrays.ts';
import type { Session } from '../../connect/database.ts';
import type { Lanes } from '../../lanes.ts';
import { pauseFor } from '../admin/limit.ts';
import { giveBackAll } from '../trees/budget.ts';
import { countDownInto, endedOf, type Woken } from '../trees/countdown.ts';

const idsOf = (items: readonly Lease[]): string => numbers(items.map(({ task }) => task));
const attemptsOf = (items: readonly Lease[]): string => numbers(items.map(({ attempt }) => attempt));
export const leaseName = ({ task, attempt }: Lease): string => `${task}/${attempt}`;

/**
 * Each item is answered by its own row, whatever its neighbours are. The first of two for one lease counts. Without
 * `woken` it ends only tasks that nothing waits for and that are not metered, and has no answer for the others.
 */
export async function settleTasks(
  session: Session,
  lanes: Lanes,
  items: readonly SettleItem[],
  woken?: Woken,
): Promise<readonly (SettleAnswer | undefined)[]> {
  const firsts = firstOfEach(items);
  const done = await settle(session, firsts, lanes, woken);
  if (done.length === items.length) return items.map(() => 'done');
  const left = woken === undefined ? await watchedOf(session, items) : NONE;
  const ended = await outcomesOf(session, items);
  const accepted = new Set(done.map(leaseName));
  return items.map((item) => {
    const name = leaseName(item);
    if (accepted.delete(name)) return 'done';
    if (left.has(name)) return undefined;
    return ended.get(name) === item.to ? 'repeated' : 'lost';
  });
}

const NONE: ReadonlySet<string> = new Set();

/** The leases among these whose tasks something waits for, or that are metered. */
function watchedOf(session: Session, items: readonly Lease[]): Promise<ReadonlySet<string>> {
  return leftOf(session, 'watched', items);
}

/** Those that are metered, and were not asked to stop. */
export function meteredOf(session: Session, items: readonly Lease[]): Promise<ReadonlySet<string>> {
  return leftOf(session, 'metered', items);
}

async function leftOf(
  session: Session,
  statement: 'watched' | 'metered',
  items: readonly Lease[],
): Promise<ReadonlySet<string>> {
  if (items.length === 0) return NONE;
  const rows = (await session.rows(statement, [idsOf(items), attemptsOf(items)])) as readonly (readonly [
    number,
    number,
  ])[];
  return new Set(rows.map(([task, attempt]) => leaseName({ task, attempt })));
}

function firstOfEach<T extends Lease>(items: readonly T[]): readonly T[] {
  const seen = new Map<number, number | undefined>();
  let twice = false;
  for (const { task, attempt } of items) {
    if (seen.has(task)) twice = true;
    seen.set(task, attempt);
  }
  if (!twice) return items;
  const byName = new Map<string, T>();
  for (const item of items) if (!byName.has(leaseName(item))) byName.set(leaseName(item), item);
  return [...byName.values()];
}

/** The leases that this call has ended. */
async function settle(
  session: Session,
  unordered: readonly SettleItem[],
  lanes: Lanes,
  woken?: Woken,
): Promise<readonly Lease[]> {
  const items = inOrder(unordered);
  if (woken === undefined && items.every(isPlain)) {
    const free = items.every(({ hint }) => lanes.isLimited(hint?.lane) === false);
    return complete(session, items, free ? 'complete' : 'completeLimited');
  }
  const rows = (await session.rows(woken === undefined ? 'settle' : 'settleWatched', [
    idsOf(items),
    attemptsOf(items),
    numbers(items.map(({ to }) => stateCode(to))),
    numbers(items.map(({ reason }) => reasonCode(reason))),
    texts(items.map(({ result }) => result)),
    booleans(items.map(({ result }) => isLong(result))),
  ])) as readonly (readonly [number, number, number, boolean, boolean])[];
  if (woken !== undefined) {
    const ended = rows.flatMap(([task, , state, watched]) => (watched ? [endedOf(task, state)] : []));
    await countDownInto(woken, session, ended);
    const cut = new Set(rows.flatMap(([task, , state]) => (isCut(stateOf(state) as FinalState) ? [task] : [])));
    await giveBackAll(session, meteredIn(rows), woken, (task) => cut.has(task));
  }
  return rows.map(([task, attempt]) => ({ task, attempt }));
}

/** The statement returns one row per queue, with ids only if fewer ended than were asked for. */
async function complete(
  session: Session,
  items: readonly SettleItem[],
  statement: 'complete' | 'completeLimited',
): Promise<readonly Lease[]> {
  const values = [idsOf(items), attemptsOf(items), texts(items.map(({ result }) => result))];
  const rows = (await session.rows(statement, values)) as readonly (readonly [
    number,
    readonly number[] | null,
    readonly number[] | null,
  ])[];
  if (rows.reduce((sum, [count]) => sum + count, 0) === items.length) return items;
  // Equal attempts are listed once.
  return rows.flatMap(([, ids, attempts]) =>
    (ids ?? []).map((task, i) => ({ task, attempt: (attempts?.[i] ?? attempts?.[0]) as number })),
  );
}

/** The tasks of rows that end with whether they are metered. */
export function meteredIn(rows: readonly (readonly [task: number, ...unknown[]])[]): readonly number[] {
  return rows.flatMap((row) => (row.at(-1) === true ? [row[0]] : []));
}

const isLong = (result: string | undefined): boolean => result !== undefined && !fitsInline(result);

function isPlain({ to, reason, result }: SettleItem): boolean {
  return to === 'completed' && reason === 'none' && !isLong(result);
}

/** How these attempts ended. The caller repeats a call whose answer was lost, or comes too late. */
export async function outcomesOf(session: Session, items: readonly Lease[]): Promise<ReadonlyMap<string, Outcome>> {
  const rows = await session.rows('endedAs', [idsOf(items), attemptsOf(items)]);
  return new Map(
    rows.map(([task, attempt, outcome]) => [
      `${String(task)}/${String(attempt)}`,
      OUTCOMES[outcome as number] as Outcome,
    ]),
  );
}

export interface Returned {
  readonly answers: readonly (SettleAnswer | undefined)[];
  /** Lanes that have a ready task again. */
  readonly lanes: ReadonlySet<number>;
  /** The lanes of the tasks, whatever became of them. */
  readonly left: ReadonlySet<number>;
}

/** Without `woken` it has no answer for metered tasks, and for those that were asked to stop and that something waits for. */
export async function returnTasks(
  session: Session,
  known: Lanes,
  items: readonly ReturnItem[],
  woken?: Woken,
): Promise<Returned> {
  const firsts = firstOfEach(items);
  const rows = (await session.rows(woken === undefined ? 'return' : 'returnMetered', [
    idsOf(firsts),
    attemptsOf(firsts),
    numbers(firsts.map(({ change }) => OUTCOMES.indexOf(change))),
    numbers(firsts.map(({ delayMs }) => delayMs)),
    numbers(firsts.map(({ refund }) => (refund ? 1 : 0))),
    numbers(firsts.map(({ bounced }) => (bounced ? 1 : 0))),
    texts(firsts.map(({ error }) => error)),
  ])) as readonly (readonly [number, number, number, number, boolean])[];
  const lanes = new Set(rows.flatMap(([, , lane, state]) => (state === 0 ? [lane] : [])));
  await pauseLimits(session, known, firsts, rows);
  const left = new Set(rows.map(([, , lane]) => lane));
  if (woken !== undefined) await giveBackAll(session, meteredIn(rows), woken, () => true);
  if (rows.length === items.length) return { answers: items.map(() => 'done'), lanes, left };
  const accepted = new Set(rows.map(([task, attempt]) => leaseName({ task, attempt })));
  const others = firsts.filter((item) => !accepted.has(leaseName(item)));
  const asked = await cancelAsked(session, others, known, woken);
  const metered = woken === undefined ? await meteredOf(session, others) : NONE;
  const ended = await outcomesOf(session, items);
  const answers = items.map((item): SettleAnswer | undefined => {
    const name = leaseName(item);
    if (accepted.delete(name)) return 'done';
    if (asked.has(name)) return asked.get(name);
    if (metered.has(name)) return undefined;
    const outcome = ended.get(name);
    return outcome === item.change ? 'repeated' : outcome === 'cancelled' ? 'cancelled' : 'lost';
  });
  return { answers, lanes, left };
}

/** Pauses the limits of handlers that asked to come back later: tasks that take from the same key wait with them. */
async function pauseLimits(
  session: Session,
  known: Lanes,
  items: readonly ReturnItem[],
  rows: readonly (readonly [number, number, number, ...unknown[]])[],
): Promise<void> {
  const pausing = items.filter(({ pause }) => pause !== undefined);
  if (pausing.length === 0) return;
  const laneOf = new Map(rows.map(([task, , lane]) => [task, lane]));
  await known.need(session, laneOf.values());
  for (const { task, pause } of pausing) {
    const uses = known.known(laneOf.get(task) ?? 0)?.rules?.uses ?? [];
    if (pause !== undefined) await pauseFor(session, uses, pause);
  }
}

/**
 * Ends tasks that were asked to stop as cancelled, with the error that they had. By lease name. Without `woken` some
 * have no answer.
 */
export async function cancelAsked(
  session: Session,
  items: readonly (Lease & Pick<ReturnItem, 'error'>)[],
  lanes: Lanes,
  woken?: Woken,
): Promise<ReadonlyMap<string, 'cancelled' | undefined>> {
  const asked = new Map<string, 'cancelled' | undefined>();
  const rows = await session.rows('cancelWanted', [idsOf(items), attemptsOf(items)]);
  const wanted = new Set(rows.map(([task]) => task));
  const ends = items
    .filter(({ task }) => wanted.has(task))
    .map(({ task, attempt, error }): SettleItem => {
      return { task, attempt, to: 'cancelled', reason: 'requested', result: error };
    });
  if (ends.length === 0) return asked;
  const ended = await settle(session, ends, lanes, woken);
  if (woken === undefined && ended.length < ends.length) {
    for (const name of await watchedOf(session, ends)) asked.set(name, undefined);
  }
  for (const lease of ended) asked.set(leaseName(lease), 'cancelled');
  return asked;
}
