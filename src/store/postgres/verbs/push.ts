import { isFinal } from '../../../core/task.ts';
import type { NewTask, PushAnswer } from '../../store.ts';
import { booleans, numbers, texts } from '../arrays.ts';
import { isLong, prioOf, stateOf } from '../codes.ts';
import type { Session, Try } from '../database.ts';
import type { PostgresParts } from '../parts.ts';

/** Names one flush among all of all stores, so that a second sending of it is known. */
export interface Flight {
  readonly store: number;
  readonly n: number;
}

const noteOf = ({ store, n }: Flight): string => `${store}:${n}`;

/** Tasks without keys, in one statement. */
export async function pushTasks(
  session: Session,
  parts: PostgresParts,
  flight: Flight,
  items: readonly NewTask[],
  tried: Try,
): Promise<readonly PushAnswer[]> {
  await parts.lanes.need(
    session,
    items.map(({ lane }) => lane),
  );
  const answers = items.some(isFull)
    ? await pushFull(session, parts, flight, items)
    : await pushPlain(session, parts, flight, items);
  if (answers.length === items.length) return answers;
  // The first sending had come through: what it made is in its events.
  if (!tried.again) throw new Error('a flush of pushes was refused its number');
  return earlier(session, flight, items);
}

/** It needs more columns than most. */
function isFull({ payload, delayMs, runAt, waitTimeoutMs }: NewTask): boolean {
  return delayMs !== undefined || runAt !== undefined || waitTimeoutMs !== undefined || isLong(payload);
}

function columns({ lanes }: PostgresParts, items: readonly NewTask[]): readonly string[] {
  return [
    numbers(items.map(({ lane }) => lanes.known(lane)?.queueId)),
    numbers(items.map(({ lane }) => lane)),
    numbers(items.map(({ spec }) => spec)),
    numbers(items.map(({ priority }) => prioOf(priority))),
    numbers(items.map(({ maxTries }) => maxTries)),
    texts(items.map(({ payload }) => payload)),
  ];
}

async function pushPlain(
  session: Session,
  parts: PostgresParts,
  flight: Flight,
  items: readonly NewTask[],
): Promise<readonly PushAnswer[]> {
  const values = [flight.store, flight.n, ...columns(parts, items), noteOf(flight)];
  const rows = (await session.rows('push', values)) as readonly (readonly [number, number])[];
  return rows.map(([task, createdAt]) => ({ ok: true, task, createdAt, state: 'ready', fresh: true }));
}

/** With `ids` that were drawn before, or new ones. */
async function pushFull(
  session: Session,
  parts: PostgresParts,
  flight: Flight,
  items: readonly NewTask[],
  ids: readonly (number | undefined)[] = [],
): Promise<readonly (PushAnswer & { readonly ok: true })[]> {
  const values = [
    flight.store,
    flight.n,
    ...columns(parts, items),
    numbers(items.map(({ runAt }) => runAt)),
    numbers(items.map(({ delayMs }) => delayMs)),
    numbers(items.map(({ waitTimeoutMs }) => waitTimeoutMs)),
    booleans(items.map(({ payload }) => isLong(payload))),
    numbers(items.map((_, i) => ids[i])),
    noteOf(flight),
  ];
  const rows = (await session.rows('pushFull', values)) as readonly (readonly [number, number, number | null])[];
  return rows.map(([task, createdAt, runAt]) => {
    return { ok: true, task, createdAt, state: runAt === null ? 'ready' : 'scheduled', fresh: true };
  });
}

async function earlier(session: Session, flight: Flight, items: readonly NewTask[]): Promise<readonly PushAnswer[]> {
  const rows = await session.all<{ ids: readonly number[]; at: number; state: number }>('pushed', [noteOf(flight)]);
  // In the order of the items: ids were drawn in it.
  const found = rows
    .flatMap(({ ids, at, state }) => ids.map((task) => ({ task, createdAt: at, state: stateOf(state) })))
    .sort((a, b) => a.task - b.task);
  if (found.length !== items.length) throw new Error(`a flush of ${items.length} pushes left ${found.length} tasks`);
  return found.map((one) => ({ ok: true, ...one, fresh: true }));
}

/** How long an operation id is remembered. */
const OP_MS = 24 * 3_600_000;

/**
 * Tasks with operation ids or unique keys, one batch in which no id and no key comes twice. In a transaction: the ids and
 * keys are taken first, in one order everywhere, and whoever else wants one of them waits until it is decided.
 */
export async function pushKeyed(
  session: Session,
  parts: PostgresParts,
  flight: Flight,
  items: readonly NewTask[],
): Promise<readonly PushAnswer[]> {
  const { lanes } = parts;
  await lanes.need(
    session,
    items.map(({ lane }) => lane),
  );
  const answers: (PushAnswer | undefined)[] = await earlierAnswers(session, items);
  const open = items.flatMap((_, i) => (answers[i] === undefined ? [i] : []));
  const drawn = await session.rows('taskIds', [open.length]);
  const ids = new Map(open.map((i, at) => [i, (drawn[at] as readonly [number])[0]]));
  await takeKeys(session, parts, items, ids, answers);
  const fresh = open.filter((i) => answers[i] === undefined);
  if (fresh.length > 0) {
    const pushed = await pushFull(
      session,
      parts,
      flight,
      fresh.map((i) => items[i] as NewTask),
      fresh.map((i) => ids.get(i)),
    );
    for (const [at, i] of fresh.entries()) answers[i] = pushed[at];
  }
  const kept = open.filter((i) => items[i]?.op !== undefined);
  if (kept.length > 0) {
    await session.rows('opAnswer', [
      texts(kept.map((i) => opKey(items[i] as NewTask))),
      texts(kept.map((i) => describe(answers[i] as PushAnswer))),
    ]);
  }
  return answers as PushAnswer[];
}

/** Keys of different verbs never meet. */
const opKey = ({ op }: NewTask): string => `push:${op}`;

/** Whatever the answer is, a repeat gets it again: also the task that held the key, and the refusal. */
function describe(answer: PushAnswer): string {
  return JSON.stringify(answer.ok ? [answer.task, answer.createdAt] : [answer.conflict]);
}

/** Takes the operation ids that are free, and answers those that are not. */
async function earlierAnswers(session: Session, items: readonly NewTask[]): Promise<(PushAnswer | undefined)[]> {
  const answers: (PushAnswer | undefined)[] = items.map(() => undefined);
  const named = items.flatMap((item, i) => (item.op === undefined ? [] : [{ i, key: opKey(item) }]));
  if (named.length === 0) return answers;
  const taken = await session.rows('opTake', [texts(named.map(({ key }) => key)), OP_MS]);
  const ours = new Set(taken.map(([id]) => id));
  const others = named.filter(({ key }) => !ours.has(key));
  if (others.length === 0) return answers;
  const rows = await session.all<{ id: string; answer: string }>('opFind', [texts(others.map(({ key }) => key))]);
  const kept = new Map(rows.map(({ id, answer }) => [id, JSON.parse(answer) as [number, number?]]));
  const states = await standOf(
    session,
    [...kept.values()].map(([task]) => task),
  );
  for (const { i, key } of others) {
    const [task, createdAt] = kept.get(key) as [number, number?];
    answers[i] =
      createdAt === undefined
        ? { ok: false, conflict: task }
        : { ok: true, task, createdAt, state: states.get(task) ?? 'completed', fresh: false };
  }
  return answers;
}

async function standOf(
  session: Session,
  tasks: readonly number[],
): Promise<ReadonlyMap<number, ReturnType<typeof stateOf>>> {
  const rows = await session.all<{ id: number; state: number }>('stand', [numbers(tasks)]);
  return new Map(rows.map(({ id, state }) => [id, stateOf(state)]));
}

interface KeyRow {
  readonly queue: number;
  readonly key: string;
  readonly task: number;
  readonly hash: number;
  readonly state: number | null;
  readonly created_at: number | null;
  readonly holds: boolean;
}

/** Takes the unique keys that are free or whose time is over, and answers those that are not. */
async function takeKeys(
  session: Session,
  { lanes }: PostgresParts,
  items: readonly NewTask[],
  ids: ReadonlyMap<number, number>,
  answers: (PushAnswer | undefined)[],
): Promise<void> {
  const queueOf = ({ lane }: NewTask): number => lanes.known(lane)?.queueId as number;
  let open = [...ids.keys()].filter((i) => items[i]?.unique !== undefined);
  while (open.length > 0) {
    const wanted = open.map((i) => items[i] as NewTask & { unique: NonNullable<NewTask['unique']> });
    const keys = [numbers(wanted.map(queueOf)), texts(wanted.map(({ unique }) => unique.key))];
    const taken = await session.rows('uniqTake', [
      ...keys,
      numbers(open.map((i) => ids.get(i))),
      numbers(wanted.map(({ unique }) => unique.hash)),
      numbers(wanted.map(({ unique }) => unique.windowMs)),
    ]);
    const ours = new Set(taken.map(([task]) => task));
    const rows = ours.size === open.length ? [] : await session.all<KeyRow>('uniqFind', keys);
    const holders = new Map(rows.map((row) => [`${row.queue}:${row.key}`, row]));
    const left: number[] = [];
    for (const i of open) {
      if (ours.has(ids.get(i))) continue;
      const item = items[i] as NewTask;
      const held = holders.get(`${queueOf(item)}:${item.unique?.key}`);
      // Removed meanwhile, or taken by somebody who was quicker: once more.
      if (held === undefined || !(await settleKey(session, item, held, ids.get(i) as number, answers, i))) left.push(i);
    }
    open = left;
  }
}

/** Decides about a key that somebody has. False: it changed hands meanwhile. */
async function settleKey(
  session: Session,
  { unique }: NewTask,
  held: KeyRow,
  id: number,
  answers: (PushAnswer | undefined)[],
  i: number,
): Promise<boolean> {
  if (unique === undefined) return true;
  if (held.holds) {
    const state = stateOf(held.state as number);
    answers[i] =
      held.hash === unique.hash
        ? { ok: true, task: held.task, createdAt: held.created_at as number, state, fresh: false }
        : { ok: false, conflict: held.task };
    return true;
  }
  const { queue, key, task } = held;
  const rows = await session.rows('uniqReplace', [queue, key, task, id, unique.hash, unique.windowMs]);
  return rows.length > 0;
}

/** Splits items so that in each wave no operation id and no key comes twice; later ones then find the earlier ones there. */
export function waves(items: readonly NewTask[], queueOf: (item: NewTask) => number): readonly (readonly number[])[] {
  const waves: { readonly seen: Set<string>; readonly items: number[] }[] = [];
  for (const [i, item] of items.entries()) {
    const names = [
      ...(item.op === undefined ? [] : [`op:${item.op}`]),
      ...(item.unique === undefined ? [] : [`key:${queueOf(item)}:${item.unique.key}`]),
    ];
    // Not before a wave that has one of its names: the order of the items decides who was first.
    const last = waves.findLastIndex(({ seen }) => names.some((name) => seen.has(name)));
    const wave = waves[last + 1] ?? { seen: new Set<string>(), items: [] };
    if (waves[last + 1] === undefined) waves.push(wave);
    for (const name of names) wave.seen.add(name);
    wave.items.push(i);
  }
  return waves.map(({ items: members }) => members);
}

/** Tasks that an answer shows as ready now. */
export function isReady(answer: PushAnswer): boolean {
  return answer.ok && answer.fresh && !isFinal(answer.state) && answer.state === 'ready';
}
