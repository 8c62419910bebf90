import { createHash } from 'node:crypto';
import type { Lane, LaneName } from '../../store.ts';
import { texts } from '../arrays.ts';
import type { Session } from '../database.ts';
import type { LaneRow, Lanes } from '../lanes.ts';

/** Each step in a statement of its own: a row that another process made meanwhile is seen by the next one. */
export async function internLanes(
  session: Session,
  lanes: Lanes,
  names: readonly LaneName[],
): Promise<readonly Lane[]> {
  const hashes = names.map(({ queue, handler }) => digest(JSON.stringify([queue, handler])));
  const find = (): Promise<readonly (LaneRow & { readonly hash: string })[]> =>
    session.all('laneFind', [texts([...new Set(hashes)])]);
  let rows = await find();
  if (rows.length < new Set(hashes).size) {
    await session.rows('queueAdd', [texts(names.map(({ queue }) => queue))]);
    await session.rows('laneAdd', [
      texts(names.map(({ queue }) => queue)),
      texts(names.map(({ handler }) => handler)),
      texts(hashes),
    ]);
    rows = await find();
  }
  const byHash = new Map(rows.map((row) => [row.hash, lanes.learn(row)]));
  return hashes.map((hash) => byHash.get(hash) as Lane);
}

export async function internSpecs(session: Session, bodies: readonly string[]): Promise<readonly number[]> {
  const hashes = bodies.map(digest);
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

export async function scanLanes(
  session: Session,
  lanes: Lanes,
  after: number,
  limit: number,
): Promise<readonly Lane[]> {
  const rows = await session.all<LaneRow>('laneScan', [after, limit]);
  return rows.map((row) => lanes.learn(row));
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
