import type { NewTask, PushAnswer, PushInParams, PushStore } from '../../store.ts';
import { pushInCallerTransaction } from '../caller-transaction.ts';
import type { AttachedNotice } from '../connect/wakeups.ts';
import { pick } from '../places.ts';
import { admit, admittingLimits } from '../verbs/queue/admit.ts';
import { type AllocatedIds, isFull, pushedBefore, pushKeyed, pushTasks, waves } from '../verbs/queue/push.ts';
import type { StoreParts } from './store-parts.ts';

interface PostgresPushStore extends PushStore {
  taskPushIn(params: PushInParams): Promise<readonly PushAnswer[]>;
}

export function pushStore(parts: StoreParts): PostgresPushStore {
  return {
    taskPush: ({ items }) => push(parts, items),
    taskPushIn: (params) => pushInCallerTransaction(params, parts, () => parts.dedup.next()),
  };
}

/**
 * Tasks without keys and limits are one statement. The others take transactions of their own, before it. If a later part fails, the caller
 * sends everything again, in halves until the bad task is alone: what was committed by then is answered from `committed`, and not pushed twice.
 */
async function push(parts: StoreParts, items: readonly NewTask[]): Promise<readonly PushAnswer[]> {
  const answers: PushAnswer[] = [];
  const plain: number[] = [];
  const keyed: number[] = [];
  const asking: number[] = [];
  const { committed } = parts;
  const asksLimits = await needsAdmission(parts, items);
  for (const [i, item] of items.entries()) {
    const { op, unique } = item;
    const isPlain = op === undefined && unique === undefined && !asksLimits(item);
    const before = isPlain ? undefined : committed.get(item);
    if (isPlain) plain.push(i);
    else if (before !== undefined) answers[i] = before;
    else (asksLimits(item) ? asking : keyed).push(i);
  }
  const [only] = items;
  const notice =
    plain.length === 1 && items.length === 1 && !isFull(only as NewTask)
      ? parts.hints.attach((only as NewTask).lane)
      : undefined;
  const put = (places: readonly number[], given: readonly PushAnswer[]): void => {
    for (const [at, i] of places.entries()) answers[i] = given[at] as PushAnswer;
  };
  try {
    if (keyed.length > 0) put(keyed, await pushAllKeyed(parts, pick(items, keyed)));
    for (const i of asking) put([i], [await pushAdmitted(parts, items[i] as NewTask)]);
    if (plain.length > 0) {
      put(plain, await pushPlain(parts, plain.length === items.length ? items : pick(items, plain), notice));
    }
  } catch (error) {
    for (const [i, answer] of answers.entries()) if (answer !== undefined) committed.set(items[i] as NewTask, answer);
    throw error;
  }
  if (plain.length < items.length) for (const item of items) committed.delete(item);
  parts.hints.pushed(items, answers, notice !== undefined);
  return answers;
}

function pushPlain(
  parts: StoreParts,
  items: readonly NewTask[],
  notice: AttachedNotice | undefined,
): Promise<readonly PushAnswer[]> {
  const flushId = parts.dedup.next();
  return parts.calls.run((session, tried) => pushTasks(session, parts, flushId, items, tried, notice));
}

/** Says which of these tasks have a limit that may refuse them or end others for them. */
export async function needsAdmission(
  { calls, lanes }: StoreParts,
  items: readonly NewTask[],
): Promise<(item: NewTask) => boolean> {
  if (items.every(({ lane }) => lanes.isLimited(lane) === false)) return () => false;
  return calls.run(async (session) => {
    await lanes.need(
      session,
      items.map(({ lane }) => lane),
    );
    const namesOf = ({ lane }: NewTask): readonly string[] =>
      (lanes.known(lane)?.rules?.limits ?? []).map(({ name }) => name);
    const names = await admittingLimits(session, [...new Set(items.flatMap(namesOf))]);
    return (item) => namesOf(item).some((name) => names.has(name));
  });
}

/** Pushes a task whose limits may refuse it, in one transaction with their decision. */
async function pushAdmitted(parts: StoreParts, item: NewTask): Promise<PushAnswer> {
  const flushId = parts.dedup.next();
  const allocated: AllocatedIds = [];
  return parts.calls.transaction(async (session, tried) => {
    const before = await pushedBefore(session, parts, flushId, item, tried, allocated);
    if (before !== undefined) return before;
    const refused = await admit(session, parts.lanes.known(item.lane)?.rules?.uses ?? [], tried);
    if (refused !== undefined) return { ok: false, ...refused };
    const [answer] = await pushKeyed(session, parts, flushId, [item], tried, allocated);
    return answer as PushAnswer;
  });
}

async function pushAllKeyed(parts: StoreParts, items: readonly NewTask[]): Promise<readonly PushAnswer[]> {
  const answers: PushAnswer[] = [];
  const { calls, lanes } = parts;
  await calls.run((session) =>
    lanes.need(
      session,
      items.map(({ lane }) => lane),
    ),
  );
  for (const wave of waves(items, ({ lane }) => lanes.known(lane)?.queueId ?? 0)) {
    const flushId = parts.dedup.next();
    const some = pick(items, wave);
    const allocated: AllocatedIds = [];
    const given = await calls.transaction((session, tried) =>
      pushKeyed(session, parts, flushId, some, tried, allocated),
    );
    for (const [at, i] of wave.entries()) answers[i] = given[at] as PushAnswer;
  }
  return answers;
}
