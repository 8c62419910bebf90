import { fault } from '../../../../core/errors.ts';
import { columnsOf, hashOf, laneHash } from '../../../rows/lane-rows.ts';
import type { Lane, LaneDepth, LaneWish, ReadyLane } from '../../../store.ts';
import { numbers, texts } from '../../arrays.ts';
import type { Session } from '../../connect/database.ts';
import type { LaneRow, Lanes } from '../../lanes.ts';
import { priorityOf } from '../../prio.ts';
import { usesOf } from '../admin/limit.ts';

/** Another process makes a row between two snapshots of ours at most once: rows are never renamed. */
const MAX_ROUNDS = 10;

type HashedLane = LaneRow & { readonly hash: string };

/**
 * Lanes take one statement, with their queues, whether they exist or not: each is a round trip of somebody's first push. New lanes with limits
 * need a transaction: a lane without its counters would give nothing back.
 */
export async function internLanes(
  session: Session,
  lanes: Lanes,
  names: readonly LaneWish[],
): Promise<readonly Lane[]> {
  const hashes = names.map(laneHash);
  const wanted = [...new Set(hashes)];
  const limited = names.some(({ limits = [] }) => limits.length > 0);
  let rows = limited ? await session.all<HashedLane>('laneFind', [texts(wanted)]) : [];
  if (rows.length < wanted.length) rows = await addLanes(session, names, hashes);
  const byHash = new Map(rows.map((row) => [row.hash, lanes.learn(row)]));
  return hashes.map((hash) => byHash.get(hash) as Lane);
}

async function addLanes(
  session: Session,
  names: readonly LaneWish[],
  hashes: readonly string[],
): Promise<readonly HashedLane[]> {
  const uses = await usesOf(
    session,
    names.map(({ limits = [] }) => limits),
  );
  const columns = names.map((name, i) => columnsOf(name, uses[i] ?? []));
  const values = [
    texts(names.map(({ queue }) => queue)),
    texts(names.map(({ handler }) => handler)),
    texts(hashes),
    texts(columns.map(({ placement }) => placement)),
    texts(columns.map(({ fair_key }) => fair_key)),
    numbers(columns.map(({ weight }) => weight)),
    texts(columns.map(({ limits }) => limits)),
    texts(columns.map(({ slots }) => slots)),
  ];
  const rows = await untilAll(new Set(hashes).size, () => session.all<HashedLane>('laneAdd', values));
  const ids = new Map(rows.map(({ hash, id }) => [hash, id]));
  const pairs = uses.flatMap((some, i) => some.map((use) => ({ ...use, lane: ids.get(hashes[i] as string) })));
  if (pairs.length > 0) {
    const [lane, counter, weight] = [pairs.map((p) => p.lane), pairs.map((p) => p.counter), pairs.map((p) => p.weight)];
    await session.rows('laneSlotAdd', [numbers(lane), numbers(counter), numbers(weight)]);
  }
  return rows;
}

export async function internSpecs(session: Session, bodies: readonly string[]): Promise<readonly number[]> {
  const hashes = bodies.map(hashOf);
  const rows = await untilAll(new Set(hashes).size, () =>
    session.all<{ id: number; hash: string }>('specAdd', [texts(hashes), texts(bodies)]),
  );
  const ids = new Map(rows.map(({ id, hash }) => [hash, id]));
  return hashes.map((hash) => ids.get(hash) as number);
}

/** Rows that another process made after the snapshot of a statement are seen by the next: the insert has waited for its commit. */
async function untilAll<T>(count: number, add: () => Promise<readonly T[]>): Promise<readonly T[]> {
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const rows = await add();
    if (rows.length >= count) return rows;
  }
  throw fault('INTERNAL', { problem: 'rows of lanes or specs vanish as they are made' });
}

export async function getLanes(
  session: Session,
  lanes: Lanes,
  ids: readonly number[],
): Promise<readonly (Lane | undefined)[]> {
  const rows = await session.all<LaneRow>('laneGet', [numbers(ids)]);
  const found = new Map(rows.map((row) => [row.id, lanes.learn(row)]));
  return ids.map((id) => found.get(id));
}

export async function scanLanes(session: Session, after: number, limit: number): Promise<readonly ReadyLane[]> {
  const rows = (await session.rows('laneScan', [after, limit])) as readonly (readonly [number, number])[];
  return rows.map(([id, prio]) => ({ id, priority: priorityOf(prio) }));
}

export async function laneDepths(
  session: Session,
  lanes: readonly number[],
  most: number,
): Promise<readonly LaneDepth[]> {
  if (lanes.length === 0) return [];
  const rows = (await session.rows('laneDepth', [numbers(lanes), most])) as readonly (readonly [
    number,
    number | null,
  ])[];
  return rows.map(([ready, since]) => ({ ready, readySince: since ?? Number.POSITIVE_INFINITY }));
}
