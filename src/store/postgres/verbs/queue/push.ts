import { fitsInline, stateOf } from '../../../codes.ts';
import { keptText, OP_MS, pushKey, readKept } from '../../../op-keys.ts';
import type { NewTask, PushAnswer, PushedTask } from '../../../store.ts';
import { booleans, numbers, texts } from '../../arrays.ts';
import type { Session, Try } from '../../connect/database.ts';
import { isSentBefore } from '../../connect/errors.ts';
import type { AttachedNotice } from '../../connect/wakeups.ts';
import type { Lanes } from '../../lanes.ts';
import type { PostgresParts } from '../../parts.ts';
import { prioOf } from '../../prio.ts';
import type { FlushId } from '../../push-dedup.ts';

export const noteOf = ({ store, n }: FlushId): string => `${store}:${n}`;

/** Tasks without keys, in one statement. */
export async function pushTasks(
  session: Session,
  parts: PostgresParts,
  flushId: FlushId,
  items: readonly NewTask[],
  tried: Try,
  notice?: AttachedNotice,
): Promise<readonly PushAnswer[]> {
  await parts.lanes.need(
    session,
    items.map(({ lane }) => lane),
  );
  try {
    return await (items.some(isFull)
      ? pushFull(session, parts, flushId, items)
      : pushPlain(session, parts, flushId, items, notice));
  } catch (error) {
    // An earlier try had come through: what it made is in its events.
    if (tried.again && isSentBefore(error)) return earlier(session, flushId, items);
    throw error;
  }
}

/** Whether a task needs more columns than most do. */
export function isFull({ payload, delayMs, runAt, waitTimeoutMs, resultKey }: NewTask): boolean {
  const timed = delayMs !== undefined || runAt !== undefined || waitTimeoutMs !== undefined;
  return timed || resultKey !== undefined || !fitsInline(payload);
}

function columns(lanes: Lanes, items: readonly NewTask[]): readonly string[] {
  return [
    numbers(items.map(({ lane }) => lanes.known(lane)?.queueId)),
    numbers(items.map(({ lane }) => lane)),
    numbers(items.map(({ spec }) => spec)),
    numbers(items.map(({ priority }) => prioOf(priority))),
    numbers(items.map(({ maxTries }) => maxTries)),
    texts(items.map(({ payload }) => payload)),
  ];
}

/**
 * The columns of tasks that are made with more than a plain push: those of a push, whether the payload is stored apart,
 * and times.
 */
export function birthColumns(lanes: Lanes, items: readonly NewTask[]): readonly string[] {
  return [
    ...columns(lanes, items),
    booleans(items.map(({ payload }) => !fitsInline(payload))),
    numbers(items.map(({ runAt }) => runAt)),
    numbers(items.map(({ delayMs }) => delayMs)),
    numbers(items.map(({ waitTimeoutMs }) => waitTimeoutMs)),
  ];
}

function areAlike(items: readonly NewTask[]): boolean {
  const { lane, spec, priority, maxTries } = items[0] as NewTask;
  return items.every(
    (item) => item.lane === lane && item.spec === spec && item.priority === priority && item.maxTries === maxTries,
  );
}

function alike({ lanes }: PostgresParts, { lane, spec, priority, maxTries }: NewTask): readonly unknown[] {
  return [lanes.known(lane)?.queueId, lane, spec, prioOf(priority), maxTries];
}

async function pushPlain(
  session: Session,
  parts: PostgresParts,
  flushId: FlushId,
  items: readonly NewTask[],
  notice: AttachedNotice | undefined,
): Promise<readonly PushAnswer[]> {
  const [only] = items;
  if (only !== undefined && items.length === 1) {
    const values = [flushId.store, flushId.n, ...alike(parts, only), only.payload, noteOf(flushId)];
    const sent =
      notice === undefined
        ? session.rows('pushOne', values)
        : session.rows('pushAndTell', [...values, notice.channel, notice.payload]);
    const [row] = (await sent) as readonly (readonly [number, number])[];
    return row === undefined ? [] : [freshAnswer(...row)];
  }
  if (only !== undefined && areAlike(items)) {
    const values = [
      flushId.store,
      flushId.n,
      ...alike(parts, only),
      texts(items.map(({ payload }) => payload)),
      noteOf(flushId),
    ];
    const [[ids, createdAt] = []] = await session.rows('pushAlike', values);
    return ((ids ?? []) as readonly number[]).map((task) => freshAnswer(task, createdAt as number));
  }
  const rows = await session.rows('push', [flushId.store, flushId.n, ...columns(parts.lanes, items), noteOf(flushId)]);
  return rows.map(([task, createdAt]) => freshAnswer(task as number, createdAt as number));
}

function freshAnswer(task: number, createdAt: number): PushAnswer {
  return { ok: true, task, createdAt, state: 'ready', fresh: true };
}

/** With `ids` that were drawn before, or new ones. */
async function pushFull(
  session: Session,
  parts: PostgresParts,
  flushId: FlushId,
  items: readonly NewTask[],
  ids: readonly (number | undefined)[] = [],
): Promise<readonly PushedTask[]> {
  const values = [
    flushId.store,
    flushId.n,
    ...columns(parts.lanes, items),
    numbers(items.map(({ runAt }) => runAt)),
    numbers(items.map(({ delayMs }) => delayMs)),
    numbers(items.map(({ waitTimeoutMs }) => waitTimeoutMs)),
    booleans(items.map(({ payload }) => !fitsInline(payload))),
    numbers(items.map((_, i) => ids[i])),
    noteOf(flushId),
    ...resultKeys(items, (i) => i + 1),
  ];
  const rows = (await session.rows('pushFull', values)) as readonly (readonly [number, number, number | null])[];
  return rows.map(([task, createdAt, runAt]) => {
    return { ok: true, task, createdAt, state: runAt === null ? 'ready' : 'scheduled', fresh: true };
  });
}

/** Two columns: `of(place)` for the few items that have a result key, and the keys. */
export function resultKeys(items: readonly NewTask[], of: (place: number) => number): readonly [string, string] {
  const some = items.flatMap(({ resultKey }, i) => (resultKey === undefined ? [] : [{ resultKey, n: of(i) }]));
  return [numbers(some.map(({ n }) => n)), texts(some.map(({ resultKey }) => resultKey))];
}

async function earlier(session: Session, flushId: FlushId, items: readonly NewTask[]): Promise<readonly PushAnswer[]> {
  // In the order of the items, in which ids were drawn.
  const found = [...(await madeBy(session, flushId)).values()].sort((a, b) => a.task - b.task);
  if (found.length !== items.length) throw new Error(`a flush of ${items.length} pushes left ${found.length} tasks`);
  return found;
}

/** The tasks that a flush whose answer was lost had made, by id. */
export async function madeBy(session: Session, flushId: FlushId): Promise<ReadonlyMap<number, PushedTask>> {
  const rows = await session.all<{ ids: readonly number[]; at: number; state: number }>('pushed', [noteOf(flushId)]);
  return new Map(
    rows.flatMap(({ ids, at, state }) =>
      ids.map((task) => [task, { ok: true, task, createdAt: at, state: stateOf(state), fresh: true }]),
    ),
  );
}

/** The ids that each try of a keyed flush has drawn, by item. They are kept from one try to the next. */
export type AllocatedIds = ReadonlyMap<number, number>[];

/**
 * Pushes tasks with operation ids or unique keys, in a batch without duplicates. In a transaction: ids and keys are
 * taken first, in one order everywhere, and other calls that want one of them wait for the commit.
 */
export async function pushKeyed(
  session: Session,
  parts: PostgresParts,
  flushId: FlushId,
  items: readonly NewTask[],
  tried: Try = { again: false },
  allocated: AllocatedIds = [],
): Promise<readonly PushAnswer[]> {
  const { lanes } = parts;
  await lanes.need(
    session,
    items.map(({ lane }) => lane),
  );
  const before = tried.again ? await keyedBefore(session, parts, flushId, items, allocated) : undefined;
  if (before !== undefined) return before;
  const answers: (PushAnswer | undefined)[] = await earlierAnswers(session, items);
  const open = items.flatMap((_, i) => (answers[i] === undefined ? [i] : []));
  const drawnIds = await session.rows('taskIds', [open.length]);
  const ids = new Map(open.map((i, at) => [i, (drawnIds[at] as readonly [number])[0]]));
  allocated.push(ids);
  await takeKeys(session, parts, items, ids, answers);
  const fresh = open.filter((i) => answers[i] === undefined);
  if (fresh.length > 0) {
    const pushed = await pushFull(
      session,
      parts,
      flushId,
      fresh.map((i) => items[i] as NewTask),
      fresh.map((i) => ids.get(i)),
    );
    for (const [at, i] of fresh.entries()) answers[i] = pushed[at];
  }
  await keepAnswers(session, items, answers as PushAnswer[], open);
  // An earlier try may have come through meanwhile: what it made belongs to this call.
  const earlier = new Set(allocated.slice(0, -1).flatMap((sent) => [...sent.values()]));
  const isOwn = (answer: PushAnswer): boolean => answer.ok && earlier.has(answer.task);
  return (answers as PushAnswer[]).map((answer) => (isOwn(answer) ? { ...answer, fresh: true } : answer) as PushAnswer);
}

/**
 * The answers of an earlier try that had come through. Its tasks may have ended since, and their keys may be free
 * again, so its events are the only record of what it made.
 */
async function keyedBefore(
  session: Session,
  { lanes }: PostgresParts,
  flushId: FlushId,
  items: readonly NewTask[],
  allocated: AllocatedIds,
): Promise<readonly PushAnswer[] | undefined> {
  const made = await madeBy(session, flushId);
  const ids = allocated.find((drawnIds) => [...drawnIds.values()].some((id) => made.has(id)));
  if (ids === undefined) return undefined;
  const answers: (PushAnswer | undefined)[] = await earlierAnswers(session, items);
  for (const i of items.keys()) answers[i] = made.get(ids.get(i) ?? 0) ?? answers[i];
  // The others found their key taken. The task that has it now is as good an answer.
  const open = items.flatMap((item, i) => (answers[i] === undefined ? [{ item, i }] : []));
  const queues = open.map(({ item }) => lanes.known(item.lane)?.queueId);
  const rows = await session.all<KeyRow>('uniqFind', [
    numbers(queues),
    texts(open.map(({ item }) => item.unique?.key)),
  ]);
  for (const [at, { item, i }] of open.entries()) {
    const held = rows.find(({ queue, key }) => queue === queues[at] && key === item.unique?.key);
    if (held === undefined) throw new Error('a key that was held is gone');
    answers[i] = heldAnswer(item, held);
  }
  return answers as PushAnswer[];
}

/**
 * The existing answer for a task whose limits may refuse it: an earlier try came through, or its key or operation id is
 * taken.
 */
export async function pushedBefore(
  session: Session,
  { lanes }: PostgresParts,
  flushId: FlushId,
  item: NewTask,
  tried: Try,
  allocated: AllocatedIds,
): Promise<PushAnswer | undefined> {
  if (tried.again) {
    const made = await madeBy(session, flushId);
    for (const drawnIds of allocated) for (const id of drawnIds.values()) if (made.has(id)) return made.get(id);
  }
  if (item.op !== undefined) {
    const [kept] = await session.all<{ answer: string }>('opFind', [texts([pushKey(item.op)])]);
    const known = kept === undefined || kept.answer === '' ? undefined : readKept(kept.answer, item);
    if (known !== undefined && 'ok' in known) return known;
    if (known !== undefined) {
      const { task, createdAt } = known;
      const state = (await taskStates(session, [task])).get(task) ?? 'completed';
      return { ok: true, task, createdAt, state, fresh: false };
    }
  }
  if (item.unique === undefined) return undefined;
  const key = [numbers([lanes.known(item.lane)?.queueId]), texts([item.unique.key])];
  const [held] = await session.all<KeyRow>('uniqFind', key);
  return held?.holds === true ? heldAnswer(item, held) : undefined;
}

function heldAnswer({ unique }: NewTask, { task, hash, state, created_at: createdAt }: KeyRow): PushAnswer {
  if (hash !== unique?.hash) return { ok: false, conflict: task };
  return { ok: true, task, createdAt: createdAt ?? 0, state: stateOf(state ?? 4), fresh: false };
}

/** Stores the answers of items that own an operation id. A repeat gets the same one again, also the refusal. */
export async function keepAnswers(
  session: Session,
  items: readonly NewTask[],
  answers: readonly PushAnswer[],
  places: readonly number[],
): Promise<void> {
  const kept = places.filter((i) => items[i]?.op !== undefined);
  if (kept.length === 0) return;
  await session.rows('opAnswer', [
    texts(kept.map((i) => pushKey((items[i] as NewTask).op as string))),
    texts(
      kept.map((i) => keptText(answers[i] as Exclude<PushAnswer, { readonly limit: string }>, items[i] as NewTask)),
    ),
  ]);
}

/** Takes the operation ids that are free, and returns the answers of those that are not. */
export async function earlierAnswers(session: Session, items: readonly NewTask[]): Promise<(PushAnswer | undefined)[]> {
  const answers: (PushAnswer | undefined)[] = items.map(() => undefined);
  const named = items.flatMap((item, i) => (item.op === undefined ? [] : [{ i, key: pushKey(item.op) }]));
  if (named.length === 0) return answers;
  const taken = await session.rows('opTake', [texts(named.map(({ key }) => key)), OP_MS]);
  const ours = new Set(taken.map(([id]) => id));
  const others = named.filter(({ key }) => !ours.has(key));
  if (others.length === 0) return answers;
  const rows = await session.all<{ id: string; answer: string }>('opFind', [texts(others.map(({ key }) => key))]);
  const kept = new Map(rows.map(({ id, answer }) => [id, answer]));
  const known = others.map(({ i, key }) => ({ i, answer: readKept(kept.get(key) as string, items[i] as NewTask) }));
  const states = await taskStates(
    session,
    known.flatMap(({ answer }) => ('ok' in answer ? [] : [answer.task])),
  );
  for (const { i, answer } of known) {
    answers[i] =
      'ok' in answer ? answer : { ...answer, ok: true, state: states.get(answer.task) ?? 'completed', fresh: false };
  }
  return answers;
}

export async function taskStates(
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

/** Takes the unique keys that are free or expired, and fills in the answers of those that are not. */
export async function takeKeys(
  session: Session,
  { lanes }: PostgresParts,
  items: readonly NewTask[],
  ids: ReadonlyMap<number, number>,
  answers: (PushAnswer | undefined)[],
): Promise<void> {
  const queueOf = ({ lane }: NewTask): number => lanes.known(lane)?.queueId as number;
  const keyOf = (item: NewTask): string => `${queueOf(item)}:${item.unique?.key}`;
  // Free and expired keys are taken in this order, so that no two calls wait for each other.
  let open = [...ids.keys()]
    .filter((i) => items[i]?.unique !== undefined)
    .sort((a, b) => (keyOf(items[a] as NewTask) < keyOf(items[b] as NewTask) ? -1 : 1));
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
      // It was removed meanwhile, or another call took it: try again.
      if (held === undefined || !(await settleKey(session, item, held, ids.get(i) as number, answers, i))) left.push(i);
    }
    open = left;
  }
}

/** Decides about a key that is taken. False: it changed hands meanwhile. */
async function settleKey(
  session: Session,
  item: NewTask,
  held: KeyRow,
  id: number,
  answers: (PushAnswer | undefined)[],
  i: number,
): Promise<boolean> {
  const { unique } = item;
  if (unique === undefined) return true;
  if (held.holds) {
    answers[i] = heldAnswer(item, held);
    return true;
  }
  const { queue, key, task } = held;
  const rows = await session.rows('uniqReplace', [queue, key, task, id, unique.hash, unique.windowMs]);
  return rows.length > 0;
}

/** Splits items into waves without duplicate operation ids or keys. Later waves find the tasks of earlier ones. */
export function waves(items: readonly NewTask[], queueOf: (item: NewTask) => number): readonly (readonly number[])[] {
  const waves: { readonly seen: Set<string>; readonly items: number[] }[] = [];
  for (const [i, item] of items.entries()) {
    const names = [
      ...(item.op === undefined ? [] : [`op:${item.op}`]),
      ...(item.unique === undefined ? [] : [`key:${queueOf(item)}:${item.unique.key}`]),
    ];
    // After every wave that has one of its names: the order of the items decides which was first.
    const last = waves.findLastIndex(({ seen }) => names.some((name) => seen.has(name)));
    const wave = waves[last + 1] ?? { seen: new Set<string>(), items: [] };
    if (waves[last + 1] === undefined) waves.push(wave);
    for (const name of names) wave.seen.add(name);
    wave.items.push(i);
  }
  return waves.map(({ items: members }) => members);
}

/** Whether the push made a task that is ready now. */
export function isReady(answer: PushAnswer): boolean {
  return answer.ok && answer.fresh && answer.state === 'ready';
}
