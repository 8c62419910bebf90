import type { DutyTerm, PruneAnswer, PruneQuery } from '../../../store.ts';
import { numbers, texts } from '../../arrays.ts';
import type { Session } from '../../connect/database.ts';
import { dropDay, expiredDay, makeDays, setAside } from '../../days.ts';
import type { PostgresParts } from '../../parts.ts';
import { requireDuty } from './duty.ts';
import { takeOut } from './prune-days.ts';
import { closeTrees, isGoing, isRoot, type OldRow, rootless, takeTree } from './prune-trees.ts';

const DAY_MS = 24 * 3_600_000;
/** From this retention on finished tasks are removed by whole days, and kept up to one day longer than asked. */
const BY_DAYS_MS = 2 * DAY_MS;
/** A repeat of a flush comes within the deadline of a call. This is far more. */
const FLIGHT_MS = 10 * 60_000;

/** One step. A day that is over is detached from `done` as a whole. The rest is walked by id from the duty's cursor. */
export async function prune({ database, schema }: PostgresParts, query: PruneQuery): Promise<PruneAnswer> {
  const { duty, retentionMs, limit } = query;
  const byDays = retentionMs >= BY_DAYS_MS;
  const now = await database.run(async (session) => {
    const [row] = await session.all<{ now: number }>('now', []);
    return row?.now as number;
  });
  const before = now - retentionMs;
  // Tables are made and detached in transactions of their own, each with a short lock timeout.
  await database.transaction((session) => guarded(session, duty, () => makeDays(session, schema, now)));
  const aside = await database.transaction((session) =>
    guarded(session, duty, async () => {
      const [left] = await setAside(session, schema);
      if (left !== undefined) return left;
      const day = await expiredDay(session, schema, before);
      if (day !== undefined) await takeOut(session, schema, day, before);
      return day;
    }),
  );
  return database.transaction(async (session) => {
    const cursor = await requireDuty(session, duty);
    const day = aside === undefined ? undefined : await clearDay(session, schema, aside, limit);
    const walk =
      day === undefined
        ? await walkDone(session, { schema, duty, before, limit, byDays }, cursor)
        : { tasks: 0, done: false };
    const events = await pruneEvents(session, before, now, limit);
    await session.rows('pruneOps', [limit]);
    const results = (await session.rows('pruneResults', [limit])).length;
    const signals = (await session.rows('pruneSignals', [before, limit, retentionMs])).length;
    const tokens = (await session.rows('pruneTokens', [before, limit])).length;
    const sessions = (await session.rows('pruneBrowserSessions', [limit])).length;
    await session.rows('pruneFlights', [FLIGHT_MS, 10 * limit]);
    await session.rows('nodePrune', []);
    const workers = await pruneWorkers(session, retentionMs, limit);
    const definitions = walk.done ? await pruneDefinitions(session, before, limit) : 0;
    return {
      tasks: walk.tasks + (day ?? 0),
      events: events.removed,
      workers,
      done: walk.done && events.done && Math.max(workers, signals, results, tokens, sessions, definitions) < limit,
    };
  });
}

/** A lock that is not free at once is left for the next step: no other transaction may queue behind this one. */
async function guarded<T>(session: Session, duty: DutyTerm, work: () => Promise<T>): Promise<T | undefined> {
  await requireDuty(session, duty);
  await session.raw("SET LOCAL lock_timeout = '100ms'");
  await session.raw('SAVEPOINT before');
  try {
    return await work();
  } catch (error) {
    // 55P03: the lock timed out. 23514: rows of that day are in `done_rest`.
    const { code } = error as { readonly code?: unknown };
    if (code !== '55P03' && code !== '23514') throw error;
    await session.raw('ROLLBACK TO SAVEPOINT before');
    return undefined;
  }
}

/** Removes the rows of the tasks of a detached day, then the day itself. Returns how many tasks went. */
async function clearDay(session: Session, schema: string, table: string, limit: number): Promise<number> {
  const rows = await session.raw<{ id: number }>(
    `DELETE FROM ${schema}.${table} WHERE id = ANY(ARRAY(SELECT id FROM ${schema}.${table} ORDER BY id LIMIT $1)) RETURNING id`,
    [limit],
  );
  await forget(
    session,
    rows.map(({ id }) => id),
  );
  if (rows.length < limit) await dropDay(session, schema, table);
  return rows.length;
}

interface Walk {
  readonly schema: string;
  readonly duty: DutyTerm;
  readonly before: number;
  readonly limit: number;
  readonly byDays: boolean;
}

interface Walked extends OldRow {
  readonly old: boolean;
}

/** Tasks without parent and children go one by one, trees as a whole. Members are left to their roots. */
async function walkDone(
  session: Session,
  { schema, duty, before, limit, byDays }: Walk,
  cursor: number,
): Promise<{ readonly tasks: number; readonly done: boolean }> {
  const table = byDays ? 'done_rest' : 'done';
  const rows = await session.raw<Walked>(
    `SELECT id, ended_at < $3 AS old, root, flags FROM ${schema}.${table} WHERE id > $1 ORDER BY id LIMIT $2`,
    [cursor, limit, before],
  );
  const old = rows.filter((row) => row.old);
  const single = old.filter((row) => row.root === null && !isRoot(row)).map(({ id }) => id);
  single.push(...(await rootless(session, old)));
  const ids = await takeSingles(session, single, before);
  const roots = rows.filter((row) => isRoot(row) && (row.old || isGoing(row)));
  const trees = await walkTrees(session, roots, before, limit - ids.length);
  ids.push(...trees.gone);
  await forget(session, ids);
  const round = rows.length < limit && trees.left === undefined;
  // The next step begins with what is left of a tree.
  const next = trees.left === undefined ? rows.at(-1)?.id : trees.left - 1;
  await session.rows('dutyCursor', [duty.name, duty.epoch, round ? 0 : next]);
  return { tasks: ids.length, done: round };
}

/**
 * A transaction that comes to need a finished task locks its row until the commit. So removed rows are checked once
 * more, and brought back if needed.
 */
async function takeSingles(session: Session, tasks: readonly number[], before: number): Promise<number[]> {
  if (tasks.length === 0) return [];
  const take = async (): Promise<number[]> =>
    (await session.rows('pruneDone', [numbers(tasks), before])).map(([id]) => id as number);
  await session.raw('SAVEPOINT singles');
  const gone = await take();
  if ((await session.rows('pruneNeeded', [numbers(gone)])).length === 0) return gone;
  await session.raw('ROLLBACK TO SAVEPOINT singles');
  return take();
}

/** Removes at most `limit` tasks. `left` is the root of the first tree that is not gone as a whole. */
async function walkTrees(
  session: Session,
  roots: readonly OldRow[],
  before: number,
  most: number,
): Promise<{ readonly gone: readonly number[]; readonly left: number | undefined }> {
  const gone: number[] = [];
  const closed = await closeTrees(session, roots, before);
  for (const root of [...closed].sort((a, b) => a - b)) {
    const room = most - gone.length;
    if (room <= 0) return { gone, left: root };
    const tree = await takeTree(session, root, room);
    gone.push(...tree.gone);
    if (!tree.whole) return { gone, left: root };
  }
  return { gone, left: undefined };
}

/** A unique key goes with its task, not with its window: a revived task is unfinished and holds its key again. */
async function forget(session: Session, tasks: readonly number[]): Promise<void> {
  if (tasks.length === 0) return;
  for (const name of [
    'pruneBodies',
    'pruneAttempts',
    'pruneLogs',
    'pruneDeps',
    'pruneUniq',
    'pruneWaits',
    'pruneJournals',
    'pruneRuns',
    'pruneAllowances',
    'pruneBudgets',
  ] as const) {
    await session.rows(name, [numbers(tasks)]);
  }
  const roots = await session.all<{ root: string }>('pruneDocuments', [numbers(tasks)]);
  if (roots.length > 0) {
    await session.rows('pruneDocumentRoots', [texts([...new Set(roots.map(({ root }) => root))])]);
  }
}

async function pruneEvents(
  session: Session,
  before: number,
  now: number,
  limit: number,
): Promise<{ readonly removed: number; readonly done: boolean }> {
  const rows = await session.all<{ seq: number; n: number; at: number }>('pruneEventsLook', [limit]);
  // In the order of numbers, not of times: the clock may have been ahead for a while, and an event from the far future
  // must not keep all that follow it.
  const isOld = ({ at }: { readonly at: number }): boolean => at < before || at > now + (now - before);
  const old = rows.slice(0, rows.findLastIndex(isOld) + 1);
  const last = old.at(-1);
  if (last === undefined) return { removed: 0, done: true };
  await session.rows('pruneEvents', [last.seq]);
  const [kept] = await session.all<{ seq: number }>('pruneEventsLook', [1]);
  const gone = old.filter(({ seq }) => seq < (kept?.seq ?? Number.POSITIVE_INFINITY));
  return { removed: gone.reduce((sum, { n }) => sum + n, 0), done: gone.length < limit };
}

async function pruneWorkers(session: Session, retentionMs: number, limit: number): Promise<number> {
  const { length } = await session.rows('pruneWorkers', [retentionMs, limit]);
  if (length > 0) await session.rows('pruneTotals', []);
  return length;
}

/** A definition that a run names stays with the run, however old. Last, because a push may wait for what is locked here. */
async function pruneDefinitions(session: Session, before: number, limit: number): Promise<number> {
  const old = (await session.rows('definitionsOld', [before, limit])).map(([hash]) => hash as string);
  return old.length === 0 ? 0 : (await session.rows('definitionsDrop', [texts(old)])).length;
}
