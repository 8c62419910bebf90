import { fault } from '../../../../core/errors.ts';
import type { Limit, LimitUse } from '../../../../core/limits/limit.ts';
import { editLimit } from '../../../../core/limits/limit-edit.ts';
import {
  type ChangeRow,
  type CounterRow,
  capsOf,
  changeOf,
  counterOf,
  isPlain,
  type LimitRow,
  limitOf,
  MOST_WAITING,
  recordOf,
  type VersionRow,
  versionOf,
} from '../../../rows/limit-counter-rows.ts';
import type {
  CounterDrift,
  CounterHolder,
  CounterRecord,
  CounterSnapshot,
  LimitChange,
  LimitEdited,
  LimitEditing,
  LimitPause,
  LimitRecord,
  LimitVersion,
  NamedUse,
} from '../../../store.ts';
import { booleans, numbers, texts } from '../../arrays.ts';
import type { Session } from '../../connect/database.ts';

export interface DefRow {
  readonly id: number;
  readonly name: string;
  readonly body: string | null;
}

/**
 * The counters that tasks with these limits take from: the total of each limit and that of the key, made on first use.
 * The definitions stay locked until the commit, so that no counter is made with a cap that changes meanwhile.
 */
export async function usesOf(
  session: Session,
  wanted: readonly (readonly LimitUse[])[],
): Promise<readonly (readonly NamedUse[])[]> {
  const names = [...new Set(wanted.flat().map(({ name }) => name))];
  if (names.length === 0) return wanted.map(() => []);
  const rows = await session.all<DefRow>('limitLock', [texts(names)]);
  const defs = new Map(rows.map((row) => [row.name, row]));
  const uses = wanted.map((limits) => limits.flatMap((use) => named(use, defs)));
  const all = uses.flat();
  const keys = [numbers(all.map(({ def }) => def)), texts(all.map(({ key }) => key))];
  await session.rows('slotAdd', [...keys, numbers(all.map(({ cap }) => cap)), booleans(all.map(({ plain }) => plain))]);
  const found = await session.all<{ id: number; def: number; key: string }>('slotFind', keys);
  const counters = new Map(found.map(({ id, def, key }) => [`${def}:${key}`, id]));
  return uses.map((some) =>
    some.map(({ def, name, key, weight, cost }) => {
      return { name, key, weight, cost, counter: counters.get(`${def}:${key}`) as number };
    }),
  );
}

interface Wanted extends Omit<NamedUse, 'counter'> {
  readonly def: number;
  readonly cap: number | null;
  readonly plain: boolean;
}

function named({ name, key, weight, cost }: LimitUse, defs: ReadonlyMap<string, DefRow>): readonly Wanted[] {
  const def = defs.get(name);
  if (def === undefined || def.body === null) throw fault('NOT_FOUND', { kind: 'limit', id: name });
  const limit = limitOf(def.body);
  const caps = capsOf(limit);
  const total = { name, key: '', weight, cost, def: def.id, cap: caps.total, plain: isPlain(limit) };
  return key === undefined ? [total] : [total, { ...total, key, cap: caps.key }];
}

/** All caps change in the same commit, and no later claim uses the old ones. */
export async function putLimit(session: Session, name: string, limit: Limit, by: string): Promise<LimitVersion> {
  const body = JSON.stringify(limit);
  const [row] = (await session.all<DefVersion>('limitPut', [name, body, by])) as [DefVersion];
  await recap(session, row.id, limit, by, body);
  return versionOf(row) as LimitVersion;
}

type DefVersion = VersionRow & { readonly id: number };

/** In a transaction. A row that was made only to be locked is rolled back if the edit is refused. */
export async function changeLimit(session: Session, editing: LimitEditing): Promise<LimitEdited> {
  const { name, edit, by, ...terms } = editing;
  const [row] = await session.all<DefVersion>('limitTake', [name]);
  const before = versionOf(row);
  const limit = editLimit(name, before, edit, terms);
  const after = limit === undefined ? (before as LimitVersion) : await putLimit(session, name, limit, by);
  return { ...(before && { before }), after };
}

export async function removeLimit(session: Session, name: string, by: string): Promise<boolean> {
  const [row] = await session.all<{ id: number }>('limitRemove', [name, by]);
  if (row !== undefined) await recap(session, row.id, undefined, by, null);
  return row !== undefined;
}

async function recap(session: Session, def: number, limit: Limit | undefined, by: string, body: string | null) {
  await session.rows('limitChangeAdd', [def, by, body]);
  const { total, key } = capsOf(limit);
  await session.rows('slotAdd', [numbers([def]), texts(['']), numbers([total]), booleans([isPlain(limit)])]);
  await session.rows('limitCaps', [def, total, key, isPlain(limit)]);
}

export async function listLimits(session: Session): Promise<readonly LimitRecord[]> {
  return (await session.all<LimitRow>('limitList', [MOST_WAITING])).map(recordOf);
}

export async function limitChanges(session: Session, name: string, limit: number): Promise<readonly LimitChange[]> {
  return (await session.all<ChangeRow>('limitChanges', [name, limit])).map(changeOf);
}

export async function countersOfLimit(
  session: Session,
  name: string,
  limit: number,
): Promise<readonly CounterRecord[]> {
  return (await session.all<CounterRow>('slotsOf', [name, limit])).map(counterOf);
}

export async function getCounters(session: Session, counters: readonly number[]): Promise<CounterSnapshot> {
  const rows = await session.all<CounterRow & { readonly now: number }>('slotGet', [numbers(counters)]);
  const byId = new Map(rows.map((row) => [row.id, counterOf(row)]));
  const now = rows[0]?.now ?? (await session.all<{ now: number }>('now', []))[0]?.now ?? 0;
  return { now, counters: counters.map((counter) => byId.get(counter)) };
}

export async function counterHolders(
  session: Session,
  counter: number,
  limit: number,
): Promise<readonly CounterHolder[]> {
  const rows = await session.all<{ task: number; created_at: number; weight: number; holder: number | null }>(
    'slotHolders',
    [counter, limit],
  );
  return rows.map(({ task, created_at: createdAt, weight, holder }) => {
    return { task, createdAt, weight, holder: holder ?? undefined };
  });
}

/** A handler asked to come back later: tasks that take from the same key wait with it. */
export async function pauseFor(
  session: Session,
  uses: readonly NamedUse[],
  { limit, forMs, by }: LimitPause,
): Promise<void> {
  const names = [...new Set(uses.map(({ name }) => name))].filter((name) => limit === undefined || name === limit);
  if (names.length === 0) return;
  const rows = await session.all<DefRow>('limitFind', [texts(names)]);
  const rated = new Set(
    rows
      .filter(({ body }) => body !== null && (limitOf(body).rate ?? limitOf(body).cost) !== undefined)
      .map(({ name }) => name),
  );
  // The key, or the total of a task that has none.
  const counters = names
    .filter((name) => limit !== undefined || rated.has(name))
    .map((name) => (uses.findLast((use) => use.name === name) as NamedUse).counter);
  if (counters.length > 0) await session.rows('slotPause', [numbers(counters), forMs, by]);
}

/** While a counter is locked nothing is added to it, and a task that is giving back still counts as running. */
export async function repairCounters(session: Session): Promise<readonly CounterDrift[]> {
  const found = await session.all<{ id: number }>('slotDrift', []);
  if (found.length === 0) return [];
  await session.rows('slotLock', [numbers(found.map(({ id }) => id))]);
  const locked = new Set(found.map(({ id }) => id));
  const rows = await session.all<CounterDrift & { readonly id: number }>('slotDrift', []);
  const drifts = rows.filter(({ id }) => locked.has(id));
  for (const { id, counted } of drifts) await session.rows('slotSet', [id, counted]);
  return drifts.map(({ name, key, counted, kept }) => ({ name, key, counted, kept }));
}
