import { GIVEN_UP, type GoneRow, goneOf, REMOVED, type RoomRow } from '../../../rows/artifact-rows.ts';
import type { DutyTerm, Sweep, SweepQuery } from '../../../store.ts';
import { numbers, texts } from '../../arrays.ts';
import type { Session } from '../../connect/database.ts';
import { freeRoom, lockRoom, sweptRoom } from '../trees/artifact.ts';
import { requireDuty } from './duty.ts';

/** One step, in a transaction. Trees are walked by their roots from the duty's cursor, which wraps. */
export async function sweepArtifacts(session: Session, query: SweepQuery): Promise<Sweep> {
  const { duty, retentionMs, pendingMs, limit } = query;
  const cursor = await requireDuty(session, duty);
  await lockRoom(session);
  const stale = await session.all<RoomRow>('artifactStale', [pendingMs, limit]);
  await freeRoom(session, stale);
  const walk = await walkTrees(session, retentionMs, limit, cursor);
  await session.rows('dutyCursor', [duty.name, duty.epoch, walk.cursor]);
  const removed = await session.all<GoneRow>('artifactGone', [REMOVED, -Number.MAX_SAFE_INTEGER, limit]);
  // Past its time nobody may send bytes for it any more.
  const left = await session.all<GoneRow>('artifactGone', [GIVEN_UP, pendingMs, limit - removed.length]);
  return { removed: stale.length + walk.removed, gone: goneOf([...removed, ...left]), done: walk.round };
}

/** If a tree has more than fits into one step, the next one begins at the same root. */
async function walkTrees(
  session: Session,
  retentionMs: number,
  limit: number,
  cursor: number,
): Promise<{ readonly removed: number; readonly cursor: number; readonly round: boolean }> {
  const roots = (await session.all<{ root: number }>('artifactRoots', [cursor, limit])).map(({ root }) => root);
  const over = await session.all<{ id: number }>('artifactTreesOver', [numbers(roots), retentionMs]);
  let removed = 0;
  for (const { id } of over) {
    const rows = await session.all<RoomRow>('artifactExpire', [id, limit - removed]);
    await freeRoom(session, rows);
    removed += rows.length;
    if (removed >= limit) return { removed, cursor: id - 1, round: false };
  }
  const round = roots.length < limit;
  return { removed, cursor: round ? 0 : (roots.at(-1) as number), round };
}

/** In a transaction. */
export async function sweptArtifacts(session: Session, duty: DutyTerm, ids: readonly string[]): Promise<void> {
  await requireDuty(session, duty);
  await lockRoom(session);
  await sweptRoom(session, await session.all<RoomRow>('artifactSwept', [texts(ids)]));
}
