import type { NewTask, ReturnItem, SettleAnswer, Then, Turn, TurnAnswer, TurnStore } from '../../store.ts';
import { circleIn, type ParkItem } from '../../turns.ts';
import { pick } from '../places.ts';
import type { AllocatedIds } from '../verbs/queue/push.ts';
import { leaseName, meteredOf } from '../verbs/queue/settle.ts';
import { journalSize, listHeads, listJournal, readEntries } from '../verbs/trees/journal.ts';
import { areTimers, type ParkAnswer, parkBatches, parkedBefore, parkTasks, parkTimers } from '../verbs/trees/park.ts';
import { type Form, formOf, parkOf, roundsOf, takeEnds, takePlain } from '../verbs/trees/turn.ts';
import { takeFans } from '../verbs/trees/turn-fan.ts';
import { FullTurn } from '../verbs/trees/turn-full.ts';
import { endMetered, takeMetered } from '../verbs/trees/turn-metered.ts';
import { needsAdmission } from './push-store.ts';
import { giveBack } from './settle-store.ts';
import type { StoreParts } from './store-parts.ts';

/** How many transactions of turns one call runs at once. */
const AT_ONCE = 4;

export function turnStore(parts: StoreParts): TurnStore {
  return {
    taskTurn: ({ items }) => takeTurns(parts, items),
    journalSize: ({ task }) => parts.calls.run((session) => journalSize(session, task)),
    journalList: ({ task }) => parts.calls.run((session) => listJournal(session, task)),
    journalHeads: (params) => parts.calls.run((session) => listHeads(session, params)),
    journalEntries: ({ task, keys }) => parts.calls.run((session) => readEntries(session, task, keys)),
  };
}

async function takeTurns(parts: StoreParts, items: readonly Turn[]): Promise<readonly TurnAnswer[]> {
  const answers: TurnAnswer[] = [];
  for (const round of roundsOf(items)) {
    const forms = Map.groupBy(round, (i) => formOf(items[i] as Turn));
    await Promise.all(
      [...forms].map(async ([form, places]) => {
        const given = await takeAlike(parts, form, pick(items, places));
        for (const [at, i] of places.entries()) answers[i] = given[at] as TurnAnswer;
      }),
    );
  }
  return answers;
}

function takeAlike(parts: StoreParts, form: Form, turns: readonly Turn[]): Promise<readonly TurnAnswer[]> {
  if (form === 'plain') {
    const answers = parts.calls.run((session) => takePlain(session, turns));
    parts.logs.add(new Set(turns.map(({ task }) => task)), answers);
    return answers;
  }
  if (form === 'metered') return takeAllMetered(parts, turns);
  if (form === 'fan') return takeAllFans(parts, turns);
  if (form === 'end') return takeAllEnds(parts, turns);
  if (form === 'park') {
    return park(parts, turns.map(parkOf)).then((all) => all.map((answer, i) => parkedTurn(answer, turns[i] as Turn)));
  }
  if (form === 'back') return giveBack(parts, turns.map(returnOf)).then((all) => all.map(returnedTurn));
  return severally(turns, (turn) => takeFull(parts, turn));
}

/** Turns whose children have limits that may refuse them, and turns that were asked to stop, are left to a transaction. */
async function takeAllFans(parts: StoreParts, turns: readonly Turn[]): Promise<readonly TurnAnswer[]> {
  const childrenOf = ({ entries }: Turn): readonly NewTask[] =>
    entries.flatMap((entry) => (entry.kind === 'child' ? [entry.task] : []));
  const asks = await needsAdmission(parts, turns.flatMap(childrenOf));
  const free = turns.filter((turn) => !childrenOf(turn).some(asks));
  const fan = free.length === 0 ? { answers: [], born: [] } : await takeFree(parts, free);
  parts.hints.pushed(
    fan.born.map(({ item }) => item),
    fan.born.map(({ answer }) => answer),
  );
  const quick = new Map(free.map((turn, i) => [turn, fan.answers[i]]));
  const left = turns.filter((turn) => quick.get(turn) === undefined);
  const others = (await severally(left, (turn) => takeFull(parts, turn))).values();
  return turns.map((turn) => quick.get(turn) ?? (others.next().value as TurnAnswer));
}

function takeFree({ calls, lanes, logs }: StoreParts, turns: readonly Turn[]): ReturnType<typeof takeFans> {
  const fan = calls.run((session) => takeFans(session, lanes, turns));
  logs.add(new Set(turns.map(({ task }) => task)), fan);
  return fan;
}

/** Turns of attempts that do not run are left to a transaction: they may be repeats. */
async function takeAllMetered(parts: StoreParts, turns: readonly Turn[]): Promise<readonly TurnAnswer[]> {
  const { calls, lanes, logs } = parts;
  await logs.behind(turns);
  const taking = calls.waking((session, woken) => takeMetered(session, lanes, turns, woken));
  logs.add(new Set(turns.map(({ task }) => task)), taking);
  const quick = await taking;
  const left = turns.filter((_, i) => quick[i] === undefined);
  const others = (await severally(left, (turn) => takeFull(parts, turn))).values();
  return quick.map((answer) => answer ?? (others.next().value as TurnAnswer));
}

async function takeAllEnds(parts: StoreParts, turns: readonly Turn[]): Promise<readonly TurnAnswer[]> {
  const { calls, hints, lanes, logs } = parts;
  await logs.behind(turns);
  const plain = turns.filter(({ spend }) => spend === undefined);
  const quick = plain.length === 0 ? [] : await calls.run((session) => takeEnds(session, plain));
  const answers = new Map(plain.map((turn, i) => [turn, quick[i]]));
  const spent = turns.filter(({ spend }) => spend !== undefined);
  if (spent.length > 0) {
    const ended = await calls.waking((session, woken) => endMetered(session, lanes, spent, woken));
    for (const [i, turn] of spent.entries()) answers.set(turn, ended[i]);
  }
  hints.ended(turns.map(({ hint }) => hint?.lane));
  const left = turns.filter((turn) => answers.get(turn) === undefined);
  const others = (await severally(left, (turn) => takeFull(parts, turn))).values();
  return turns.map((turn) => answers.get(turn) ?? (others.next().value as TurnAnswer));
}

async function takeFull(parts: StoreParts, turn: Turn): Promise<TurnAnswer> {
  const { calls, hints, logs } = parts;
  await logs.behind([turn]);
  const allocated: AllocatedIds = [];
  const taken = await calls.transaction((session, tried) =>
    new FullTurn(session, parts, turn, tried, allocated).take(),
  );
  const { answer, born, lanes, woken, left } = taken;
  hints.pushed(
    born.map(({ item }) => item),
    born.map((one) => one.answer),
  );
  hints.ready([...lanes, ...woken.lanes], left);
  hints.woken(woken);
  return answer;
}

async function park(
  { calls, hints, lanes, logs }: StoreParts,
  items: readonly ParkItem[],
): Promise<readonly ParkAnswer[]> {
  await logs.behind(items);
  const answers: (ParkAnswer | undefined)[] = items.map(() => undefined);
  for (const batch of parkBatches(items)) {
    const some = pick(items, batch);
    const whole = (these: readonly ParkItem[]): ReturnType<typeof parkTasks> =>
      calls.waking((session, woken) => parkTasks(session, these, woken));
    const parked = await (areTimers(some) ? calls.run((session) => parkTimers(session, some)) : whole(some));
    for (const i of batch) answers[i] = parked.get((items[i] as ParkItem).task);
    const left = areTimers(some) ? await meteredAmong(calls, items, batch, answers) : [];
    const rest = left.length === 0 ? undefined : await whole(pick(items, left));
    for (const i of left) answers[i] = rest?.get((items[i] as ParkItem).task);
  }
  const open = items.flatMap((_, i) => (answers[i] === undefined ? [i] : []));
  if (open.length > 0) {
    const some = pick(items, open);
    const given = await calls.whole(
      some,
      await calls.run((session) => parkedBefore(session, lanes, some)),
      (session, left, woken) => parkedBefore(session, lanes, left, woken),
    );
    for (const [at, i] of open.entries()) answers[i] = given[at];
  }
  hints.news();
  return answers as ParkAnswer[];
}

/** Those of a batch of timers that were left because they are metered, by their places. */
async function meteredAmong(
  calls: StoreParts['calls'],
  items: readonly ParkItem[],
  batch: readonly number[],
  answers: readonly (ParkAnswer | undefined)[],
): Promise<readonly number[]> {
  const open = batch.filter((i) => answers[i] === undefined);
  if (open.length === 0) return [];
  const metered = await calls.run((session) => meteredOf(session, pick(items, open)));
  return open.filter((i) => metered.has(leaseName(items[i] as ParkItem)));
}

/** Runs turns that need a transaction of their own, a few at once: each waits for its own commit. */
async function severally<T, A>(items: readonly T[], act: (item: T) => Promise<A>): Promise<readonly A[]> {
  const answers: A[] = [];
  const places = items.keys();
  const work = async (): Promise<void> => {
    for (const i of places) answers[i] = await act(items[i] as T);
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, items.length) }, work));
  return answers;
}

const ENTRYLESS = { kind: 'done', entries: [] } as const;

function parkedTurn(answer: ParkAnswer, turn: Turn): TurnAnswer {
  if (answer.went === 'lost') return { kind: 'lost' };
  if (answer.went === 'circle') return circleIn(turn);
  return { ...ENTRYLESS, ...answer, cancelRequested: answer.went === 'cancelled' };
}

function returnOf({ task, attempt, then }: Turn): ReturnItem {
  const { go: _, ...item } = then as Then & { readonly go: 'back' };
  return { ...item, task, attempt };
}

function returnedTurn(answer: SettleAnswer): TurnAnswer {
  if (answer === 'lost') return { kind: 'lost' };
  const cancelled = answer === 'cancelled';
  return { ...ENTRYLESS, went: cancelled ? 'cancelled' : 'back', cancelRequested: cancelled };
}
