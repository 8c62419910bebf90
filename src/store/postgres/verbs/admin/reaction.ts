import { FIRINGS_KEPT, type TriggerKind } from '../../../../core/trigger/trigger.ts';
import {
  type LossRow,
  lossPageOf,
  outcomeCode,
  type ReactionLineRow,
  type ReactionViewRow,
  reactionLineOf,
  reactionViewOf,
} from '../../../rows/reaction-rows.ts';
import { runValues } from '../../../rows/run-rows.ts';
import type {
  Delivered,
  LossPage,
  NewTask,
  PushAnswer,
  ReactionDelivery,
  ReactionFiring,
  ReactionKey,
  ReactionLine,
  ReactionPut,
  ReactionStore,
  ReactionView,
  RunRecord,
} from '../../../store.ts';
import { numbers, texts } from '../../arrays.ts';
import type { Session } from '../../connect/database.ts';
import { setBudget } from '../trees/budget.ts';
import { noneWoken } from '../trees/countdown.ts';
import { findRuns, putDefinitions } from '../trees/run.ts';

/** Keys that one firing forgets because their time is over. */
const MOST_EXPIRED = 500;

export async function putReaction(session: Session, put: ReactionPut): Promise<number> {
  const { name, kind, body, enabled = true, cursor } = put;
  const values = [name, kind, body, enabled ? 1 : 0, cursor ?? null];
  const [row] = await session.all<{ revision: number }>('reactionPut', values);
  return (row as { revision: number }).revision;
}

export async function findReaction(session: Session, name: string): Promise<ReactionView | undefined> {
  const [row] = await session.all<ReactionViewRow>('reactionFind', [name]);
  return row && reactionViewOf(row);
}

export async function listReactions(session: Session, kind?: TriggerKind): Promise<readonly ReactionView[]> {
  return (await session.all<ReactionViewRow>('reactionList', [kind ?? null])).map(reactionViewOf);
}

/** In a transaction: whoever fires it meanwhile holds its row, and what it wrote is seen by the statements after the first. */
export async function removeReaction(session: Session, name: string): Promise<boolean> {
  if ((await session.rows('reactionDrop', [name])).length === 0) return false;
  await session.rows('reactionLinesDrop', [name, Number.MAX_SAFE_INTEGER]);
  await session.rows('reactionKeysDrop', [name]);
  return true;
}

export async function enableReaction(
  session: Session,
  { name, enabled, cursor }: Parameters<ReactionStore['reactionEnable']>[0],
): Promise<boolean> {
  if ((await session.rows('reactionEnable', [name, enabled ? 1 : 0, cursor])).length > 0) return true;
  return (await session.rows('reactionKnown', [name])).length > 0;
}

export interface ReactionStand {
  readonly revision: number;
  readonly enabled: number;
  readonly cursor: number;
  readonly now: number;
}

export async function holdReaction(session: Session, name: string): Promise<ReactionStand | undefined> {
  return (await session.all<ReactionStand>('reactionHold', [name]))[0];
}

interface KeyRow {
  readonly key: string;
  readonly version: string;
  readonly until: number;
  readonly n: number;
  readonly task: number | null;
  readonly born: number | null;
}

export type Push = (items: readonly NewTask[]) => Promise<readonly PushAnswer[]>;

/** In a transaction that holds the row of the reaction. */
export async function deliverAll(
  session: Session,
  { name, deliveries, cursor, forget = [] }: ReactionFiring,
  now: number,
  push: Push,
): Promise<readonly Delivered[]> {
  if (cursor !== undefined) await session.rows('reactionMove', [cursor.to, name]);
  if (forget.length > 0) await session.rows('reactionKeyDrop', [name, texts(forget)]);
  if (deliveries.length === 0) return [];
  const known = await knownKeys(session, name, deliveries, now);
  const fresh = deliveries.flatMap((delivery, i) => (known.has(i) ? [] : [{ delivery, i }]));
  const pushed = await pushFresh(session, fresh, push);
  await addRuns(
    session,
    fresh.map(({ delivery }) => delivery),
    pushed,
  );
  const first = await noteLines(session, name, now, fresh, pushed);
  await takeKeys(session, name, now, { fresh, pushed, first });
  await session.rows('reactionKeysExpire', [name, now, MOST_EXPIRED]);
  const place = new Map(fresh.map(({ i }, at) => [i, at]));
  return deliveries.map((_, i) => {
    const at = place.get(i);
    return at === undefined ? earlier(known.get(i) as KeyRow) : freshAnswer(first + at, pushed[at]);
  });
}

interface Fresh {
  readonly delivery: ReactionDelivery;
  readonly i: number;
}

/** Those that have acted before, by their places. */
async function knownKeys(
  session: Session,
  name: string,
  deliveries: readonly ReactionDelivery[],
  now: number,
): Promise<ReadonlyMap<number, KeyRow>> {
  const keys = deliveries.flatMap(({ key }) => key ?? []);
  if (keys.length === 0) return new Map();
  const rows = await session.all<KeyRow>('reactionKeyFind', [name, texts(keys)]);
  const found = new Map(rows.filter(({ until }) => until > now).map((row) => [row.key, row]));
  return new Map(
    deliveries.flatMap(({ key, version = '' }, i) => {
      const row = key === undefined ? undefined : found.get(key);
      return row?.version === version ? [[i, row] as const] : [];
    }),
  );
}

async function pushFresh(
  session: Session,
  fresh: readonly Fresh[],
  push: Push,
): Promise<readonly (PushAnswer | undefined)[]> {
  const names = fresh.flatMap(({ delivery: { run } }) => run?.name ?? []);
  const known = await findRuns(session, names);
  const namedOf = ({ delivery: { run } }: Fresh): RunRecord | undefined =>
    run?.name === undefined ? undefined : known.get(run.name);
  for (const name of names) if (!known.has(name)) await session.rows('runFree', [name]);
  const items = fresh.flatMap((one) => (namedOf(one) === undefined ? (one.delivery.item ?? []) : []));
  const answers = [...(items.length === 0 ? [] : await push(items))];
  return fresh.map((one) => {
    const named = namedOf(one);
    if (one.delivery.item === undefined) return undefined;
    if (named === undefined) return answers.shift();
    const { task, createdAt, state } = named;
    return { ok: true, task, createdAt, state, fresh: false };
  });
}

/** Of new tasks: one that was there already has its run. */
async function addRuns(
  session: Session,
  deliveries: readonly ReactionDelivery[],
  pushed: readonly (PushAnswer | undefined)[],
): Promise<void> {
  const made = deliveries.flatMap(({ run, definition, budgets = [] }, i) => {
    const answer = pushed[i];
    return run !== undefined && answer?.ok === true && answer.fresh ? [{ run, definition, budgets, answer }] : [];
  });
  await putDefinitions(
    session,
    made.flatMap(({ definition }) => definition ?? []),
  );
  for (const { run, budgets, answer } of made) {
    const add = (name: string | undefined): Promise<readonly unknown[]> =>
      session.rows('runAdd', [answer.task, answer.createdAt, ...runValues({ ...run, name })]);
    // Somebody has started a run of this name in this very moment: it keeps the name.
    if ((await add(run.name)).length === 0) await add(undefined);
    for (const budget of budgets) await setBudget(session, { root: answer.task, ...budget }, noneWoken());
  }
}

/** Answers the number of the first line. */
async function noteLines(
  session: Session,
  name: string,
  now: number,
  fresh: readonly Fresh[],
  pushed: readonly (PushAnswer | undefined)[],
): Promise<number> {
  if (fresh.length === 0) return 0;
  const [row] = await session.all<{ lines: number }>('reactionCount', [fresh.length, name]);
  const { lines } = row as { lines: number };
  await session.rows('reactionLineAdd', [
    name,
    lines - fresh.length,
    now,
    numbers(fresh.map(({ delivery }, at) => outcomeCode(outcomeOf(delivery, pushed[at])))),
    numbers(pushed.map(taskOf)),
    texts(fresh.map(({ delivery }) => delivery.about)),
    texts(fresh.map(({ delivery }) => delivery.detail)),
  ]);
  await session.rows('reactionLinesDrop', [name, lines - FIRINGS_KEPT]);
  return lines - fresh.length + 1;
}

async function takeKeys(
  session: Session,
  name: string,
  now: number,
  made: {
    readonly fresh: readonly Fresh[];
    readonly pushed: readonly (PushAnswer | undefined)[];
    readonly first: number;
  },
): Promise<void> {
  const rows = made.fresh.flatMap(({ delivery }, at) => {
    const { key, version = '', keepMs, links } = delivery;
    const answer = made.pushed[at];
    if (key === undefined || answer?.ok === false) return [];
    const born = answer?.ok === true ? answer.createdAt : undefined;
    const until = Math.min(now + keepMs, Number.MAX_SAFE_INTEGER);
    return [{ key, version, until, n: made.first + at, task: taskOf(answer), born, links }];
  });
  if (rows.length === 0) return;
  await session.rows('reactionKeyPut', [
    name,
    texts(rows.map(({ key }) => key)),
    texts(rows.map(({ version }) => version)),
    numbers(rows.map(({ until }) => until)),
    numbers(rows.map(({ n }) => n)),
    numbers(rows.map(({ task }) => task)),
    numbers(rows.map(({ born }) => born)),
    numbers(rows.map(({ links }) => links)),
  ]);
}

const taskOf = (answer: PushAnswer | undefined): number | undefined => (answer?.ok === true ? answer.task : undefined);

function outcomeOf({ outcome }: ReactionDelivery, answer: PushAnswer | undefined): ReactionDelivery['outcome'] {
  return answer === undefined ? outcome : answer.ok ? 'pushed' : 'refused';
}

function freshAnswer(n: number, answer: PushAnswer | undefined): Delivered {
  if (answer === undefined) return { fresh: true, n };
  const task = answer.ok ? { task: { task: answer.task, createdAt: answer.createdAt } } : {};
  return { fresh: true, n, ...task, pushed: answer };
}

function earlier({ n, task, born }: KeyRow): Delivered {
  return { fresh: false, n, ...(task === null ? {} : { task: { task, createdAt: born as number } }) };
}

export async function noteReaction(
  session: Session,
  { name, n, outcome, detail }: Parameters<ReactionStore['reactionNote']>[0],
): Promise<void> {
  await session.rows('reactionNote', [outcomeCode(outcome), detail ?? null, name, n]);
}

export async function reactionLines(
  session: Session,
  name: string,
  before: number,
  limit: number,
): Promise<readonly ReactionLine[]> {
  return (await session.all<ReactionLineRow>('reactionLines', [name, before, limit])).map(reactionLineOf);
}

export async function reactionKeys(
  session: Session,
  { name, prefix, after, limit }: Parameters<ReactionStore['reactionKeys']>[0],
): Promise<readonly ReactionKey[]> {
  return session.all<ReactionKey & { readonly key: string }>('reactionKeys', [name, prefix, after, limit]);
}

export async function reactionLinks(
  session: Session,
  tasks: readonly number[],
): Promise<readonly (number | undefined)[]> {
  if (tasks.length === 0) return [];
  const rows = await session.all<{ task: number; links: number | null }>('reactionLinks', [
    numbers([...new Set(tasks)]),
  ]);
  const links = new Map(rows.map((row) => [row.task, row.links ?? undefined]));
  return tasks.map((task) => links.get(task));
}

export async function workerLosses(session: Session, after: number, limit: number): Promise<LossPage> {
  const [ends] = await session.all<{ oldest: number | null; newest: number | null }>('workerLossEnds', []);
  const rows = await session.all<LossRow & { readonly n: number }>('workerLosses', [after, limit]);
  return lossPageOf(rows, after, ends as { oldest: number | null; newest: number | null });
}
