import type { Lease } from '../../../core/lease.ts';
import { fitsInline, OUTCOMES, type Outcome, reasonCode, stateCode } from '../../codes.ts';
import type { ReturnItem, SettleAnswer, SettleItem } from '../../store.ts';
import { booleans, inOrder, numbers, texts } from '../arrays.ts';
import type { Session } from '../database.ts';

const idsOf = (items: readonly Lease[]): string => numbers(items.map(({ task }) => task));
const attemptsOf = (items: readonly Lease[]): string => numbers(items.map(({ attempt }) => attempt));
const nameOf = ({ task, attempt }: Lease): string => `${task}/${attempt}`;

/** Each item is answered by what its own row was: neighbours do not matter, and of two for one lease the first counts. */
export async function settleTasks(session: Session, items: readonly SettleItem[]): Promise<readonly SettleAnswer[]> {
  const firsts = firstOfEach(items);
  const done = await settle(session, firsts);
  if (done.length === items.length) return items.map(() => 'done');
  const ended = await outcomesOf(session, items);
  const told = new Set(done.map(nameOf));
  return items.map((item) => {
    const name = nameOf(item);
    if (told.delete(name)) return 'done';
    return ended.get(name) === item.to ? 'repeated' : 'lost';
  });
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
  for (const item of items) if (!byName.has(nameOf(item))) byName.set(nameOf(item), item);
  return [...byName.values()];
}

/** The leases that this call has ended. */
async function settle(session: Session, unordered: readonly SettleItem[]): Promise<readonly Lease[]> {
  const items = inOrder(unordered);
  if (items.every(isPlain)) return complete(session, items);
  const rows = await session.rows('settle', [
    idsOf(items),
    attemptsOf(items),
    numbers(items.map(({ to }) => stateCode(to))),
    numbers(items.map(({ reason }) => reasonCode(reason))),
    texts(items.map(({ result }) => result)),
    booleans(items.map(({ result }) => isLong(result))),
  ]);
  return rows.map(([task, attempt]) => ({ task: task as number, attempt: attempt as number }));
}

/** One row a queue, which names them only when there are fewer than were asked for. */
async function complete(session: Session, items: readonly SettleItem[]): Promise<readonly Lease[]> {
  const values = [idsOf(items), attemptsOf(items), texts(items.map(({ result }) => result))];
  const rows = (await session.rows('complete', values)) as readonly (readonly [
    number,
    readonly number[] | null,
    readonly number[] | null,
  ])[];
  if (rows.reduce((sum, [count]) => sum + count, 0) === items.length) return items;
  // Attempts that are all the same are named once.
  return rows.flatMap(([, ids, attempts]) =>
    (ids ?? []).map((task, i) => ({ task, attempt: (attempts?.[i] ?? attempts?.[0]) as number })),
  );
}

const isLong = (result: string | undefined): boolean => result !== undefined && !fitsInline(result);

function isPlain({ to, reason, result }: SettleItem): boolean {
  return to === 'completed' && reason === 'none' && !isLong(result);
}

/** How these very attempts ended: the caller repeats itself because its answer was lost, or comes too late. */
async function outcomesOf(session: Session, items: readonly Lease[]): Promise<ReadonlyMap<string, Outcome>> {
  const rows = await session.rows('endedAs', [idsOf(items), attemptsOf(items)]);
  return new Map(
    rows.map(([task, attempt, outcome]) => [
      `${String(task)}/${String(attempt)}`,
      OUTCOMES[outcome as number] as Outcome,
    ]),
  );
}

export interface Returned {
  readonly answers: readonly SettleAnswer[];
  /** Lanes that have a ready task again. */
  readonly lanes: ReadonlySet<number>;
}

export async function returnTasks(session: Session, items: readonly ReturnItem[]): Promise<Returned> {
  const firsts = firstOfEach(items);
  const rows = (await session.rows('return', [
    idsOf(firsts),
    attemptsOf(firsts),
    numbers(firsts.map(({ change }) => OUTCOMES.indexOf(change))),
    numbers(firsts.map(({ delayMs }) => delayMs)),
    numbers(firsts.map(({ refund }) => (refund ? 1 : 0))),
    numbers(firsts.map(({ bounced }) => (bounced ? 1 : 0))),
    texts(firsts.map(({ error }) => error)),
  ])) as readonly (readonly [number, number, number, number])[];
  const lanes = new Set(rows.flatMap(([, , lane, state]) => (state === 0 ? [lane] : [])));
  if (rows.length === items.length) return { answers: items.map(() => 'done'), lanes };
  const told = new Set(rows.map(([task, attempt]) => nameOf({ task, attempt })));
  const cancelled = new Set(
    (
      await cancel(
        session,
        firsts.filter((item) => !told.has(nameOf(item))),
      )
    ).map(nameOf),
  );
  const ended = await outcomesOf(session, items);
  const answers = items.map((item): SettleAnswer => {
    const name = nameOf(item);
    if (told.delete(name)) return 'done';
    if (cancelled.delete(name)) return 'cancelled';
    const outcome = ended.get(name);
    return outcome === item.change ? 'repeated' : outcome === 'cancelled' ? 'cancelled' : 'lost';
  });
  return { answers, lanes };
}

/** What was asked to stop meanwhile ends as cancelled; what went wrong is kept with it. */
async function cancel(session: Session, items: readonly ReturnItem[]): Promise<readonly Lease[]> {
  const rows = await session.rows('cancelWanted', [idsOf(items), attemptsOf(items)]);
  const wanted = new Set(rows.map(([task]) => task));
  const ends = items
    .filter(({ task }) => wanted.has(task))
    .map(({ task, attempt, error }): SettleItem => {
      return { task, attempt, to: 'cancelled', reason: 'requested', result: error };
    });
  return ends.length === 0 ? [] : settle(session, ends);
}
