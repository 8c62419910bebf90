import { columnsOf, hashOf, laneHash } from '../../../rows/lane-rows.ts';
import type { Lane, LaneDepth, LaneWish, ReadyLane } from '../../../store.ts';
import { numbers, texts } from '../../arrays.ts';
import type { Session } from '../../connect/database.ts';
import type { LaneRow, Lanes } from '../../lanes.ts';
import { priorityOf } from '../../prio.ts';
import { usesOf } from '../admin/limit.ts';

/**
 * Each step is a statement of its own, so that it sees rows that another process made meanwhile. Lanes with limits need
 * a transaction: a lane without its counters would give nothing back.
 */
export async function internLanes(
  session: Session,
  lanes: Lanes,
  names: readonly LaneWish[],
): Promise<readonly Lane[]> {
  const hashes = names.map(laneHash);
  const find = (): Promise<readonly (LaneRow & { readonly hash: string })[]> =>
    session.all('laneFind', [texts([...new Set(hashes)])]);
  let rows = await find();
  if (rows.length < new Set(hashes).size) {
    await session.rows('queueAdd', [texts(names.map(({ queue }) => queue))]);
    const uses = await usesOf(
      session,
      names.map(({ limits = [] }) => limits),
    );
    const columns = names.map((name, i) => columnsOf(name, uses[i] ?? []));
    await session.rows('laneAdd', [
      texts(names.map(({ queue }) => queue)),
      texts(names.map(({ handler }) => handler)),
      texts(hashes),
      texts(columns.map(({ placement }) => placement)),
      texts(columns.map(({ fair_key }) => fair_key)),
      numbers(columns.map(({ weight }) => weight)),
      texts(columns.map(({ limits }) => limits)),
      texts(columns.map(({ slots }) => slots)),
    ]);
    rows = await find();
    const ids = new Map(rows.map(({ hash, id }) => [hash, id]));
    const pairs = uses.flatMap((some, i) => some.map((use) => ({ ...use, lane: ids.get(hashes[i] as string) })));
    if (pairs.length > 0) {
      const [lane, counter, weight] = [
        pairs.map((p) => p.lane),
        pairs.map((p) => p.counter),
        pairs.map((p) => p.weight),
      ];
      await session.rows('laneSlotAdd', [numbers(lane), numbers(counter), numbers(weight)]);
    }
  }
  const byHash = new Map(rows.map((row) => [row.hash, lanes.learn(row)]));
  return hashes.map((hash) => byHash.get(hash) as Lane);
}

export async function internSpecs(session: Session, bodies: readonly string[]): Promise<readonly number[]> {
  const hashes = bodies.map(hashOf);
  const find = async (): Promise<ReadonlyMap<string, number>> => {
    const rows = await session.all<{ id: number; hash: string }>('specFind', [texts([...new Set(hashes)])]);
    return new Map(rows.map(({ id, hash }) => [hash, id]));
  };
  let ids = await find();
  if (ids.size < new Set(hashes).size) {
    await session.rows('specAdd', [texts(hashes), texts(bodies)]);
    ids = await find();
  }
  return hashes.map((hash) => ids.get(hash) as number);
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
