import { GIVEN_UP, type GoneRow, goneOf, REMOVED, type RoomRow } from '../../../rows/artifact-rows.ts';
import type { Sweep, SweepQuery } from '../../../store.ts';
import type { Prepared } from '../../file/connection.ts';
import type { Transaction } from '../../file/transaction.ts';
import { freeRoom, sweptRoom } from '../trees/artifact.ts';

/** One step. Trees are walked by their roots from the duty's cursor, which wraps. */
export function sweepArtifacts(tx: Transaction, query: SweepQuery, cursor: number): Sweep {
  const { sql, now } = tx;
  const { duty, retentionMs, pendingMs, limit } = query;
  const stale = sql.get('artifactStale').all(now - pendingMs, limit) as unknown as RoomRow[];
  freeRoom(sql, stale);
  const walk = walkTrees(sql, now - retentionMs, limit, cursor);
  sql.get('dutyCursor').run(walk.cursor, duty.name, duty.epoch);
  const removed = sql.get('artifactGone').all(REMOVED, Number.MAX_SAFE_INTEGER, limit) as unknown as GoneRow[];
  // Past its time nobody may send bytes for it any more.
  const left = sql.get('artifactGone').all(GIVEN_UP, now - pendingMs, limit - removed.length) as unknown as GoneRow[];
  return { removed: stale.length + walk.removed, gone: goneOf([...removed, ...left]), done: walk.round };
}

/** If a tree has more than fits into one step, the next one begins at the same root. */
function walkTrees(
  sql: Prepared,
  before: number,
  limit: number,
  cursor: number,
): { readonly removed: number; readonly cursor: number; readonly round: boolean } {
  const roots = sql.get('artifactRoots').all(cursor, limit) as unknown as { root: number }[];
  let removed = 0;
  for (const { root } of roots) {
    if (sql.get('artifactTreeOpen').get(root, before) !== undefined) continue;
    const rows = sql.get('artifactExpire').all(root, limit - removed) as unknown as RoomRow[];
    freeRoom(sql, rows);
    removed += rows.length;
    if (removed >= limit) return { removed, cursor: root - 1, round: false };
  }
  const round = roots.length < limit;
  return { removed, cursor: round ? 0 : (roots.at(-1) as { root: number }).root, round };
}

export function sweptArtifacts({ sql }: Transaction, ids: readonly string[]): void {
  sweptRoom(sql, sql.get('artifactSwept').all(JSON.stringify(ids)) as unknown as RoomRow[]);
}
