import { TREE } from '../../../codes.ts';
import { numbers } from '../../arrays.ts';
import type { Session } from '../../connect/database.ts';
import { detachDay } from '../../days.ts';
import { FINISHED } from '../../statements/fragments.ts';
import { closeTrees, type OldRow } from './prune-trees.ts';

/** Joined, never `= ANY`, which would compare the array with each row of the day. */
const some = (n: number): string => `unnest($${n}::bigint[])`;

/**
 * Detaches a day from `done`. Rows that must stay move to `done_rest` in the same transaction, so that no reader misses
 * them: members of trees that are open or have younger members, and tasks that unfinished ones depend on.
 */
export async function takeOut(session: Session, schema: string, table: string, before: number): Promise<void> {
  const day = `${schema}.${table}`;
  // The whole day is read once.
  await session.raw('SET LOCAL enable_seqscan = on');
  const kept = [...(await treeRows(session, schema, day, before)), ...(await neededRows(session, schema, day))];
  await detachDay(session, schema, table);
  if (kept.length === 0) return;
  // From here on all others wait for the commit.
  await session.raw(
    `WITH x AS (DELETE FROM ${day} h USING ${some(1)} k(kept) WHERE h.id = k.kept RETURNING h.*)
      INSERT INTO ${schema}.done (${FINISHED}) SELECT ${FINISHED} FROM x`,
    [numbers([...new Set(kept)])],
  );
}

async function treeRows(session: Session, schema: string, day: string, before: number): Promise<readonly number[]> {
  const found = await session.raw<{ root: number }>(
    `SELECT root FROM ${day} WHERE root IS NOT NULL UNION SELECT id FROM ${day} WHERE root IS NULL AND flags & ${TREE} <> 0`,
  );
  if (found.length === 0) return [];
  const roots = numbers(found.map(({ root }) => root));
  const ended = await session.raw<OldRow>(
    `SELECT h.id, h.root, h.flags FROM ${some(1)} k(root) JOIN ${schema}.done h ON h.id = k.root`,
    [roots],
  );
  const live = await session.raw<{ id: number }>(
    `SELECT t.id FROM ${some(1)} k(root) JOIN ${schema}.task t ON t.id = k.root`,
    [roots],
  );
  const closed = await closeTrees(session, ended, before);
  const open = [...ended, ...live].map(({ id }) => id).filter((id) => !closed.has(id));
  // The root goes last: a root whose tree has members elsewhere stays until they are gone.
  const rows = await session.raw<{ id: number }>(
    `SELECT h.id FROM ${some(1)} k(open) JOIN ${day} h ON h.root = k.open
      UNION SELECT h.id FROM ${some(1)} k(open) JOIN ${day} h ON h.id = k.open
      UNION SELECT h.id FROM ${some(2)} k(closed) JOIN ${day} h ON h.id = k.closed WHERE (SELECT 1 FROM ${schema}.done m
        WHERE m.root IS NOT NULL AND m.root = h.id AND m.tableoid <> '${day}'::regclass LIMIT 1) IS NOT NULL`,
    [numbers(open), numbers([...closed])],
  );
  return rows.map(({ id }) => id);
}

async function neededRows(session: Session, schema: string, day: string): Promise<readonly number[]> {
  const rows = await session.raw<{ id: number }>(
    `SELECT h.id FROM ${day} h WHERE EXISTS (SELECT FROM ${schema}.dep d JOIN ${schema}.task t ON t.id = d.down WHERE d.up = h.id)`,
  );
  return rows.map(({ id }) => id);
}
