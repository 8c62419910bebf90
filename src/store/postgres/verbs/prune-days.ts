import { TREE } from '../../codes.ts';
import { numbers } from '../arrays.ts';
import type { Session } from '../database.ts';
import { detachDay } from '../days.ts';
import { FINISHED } from '../statements/words.ts';
import { closeTrees, type OldRow } from './prune-trees.ts';

/**
 * Takes a day out of `done`, but for the rows that must stay: of trees that are open or have somebody younger, and what unfinished
 * tasks depend on. These move to the rest, in the same transaction: nobody ever misses one of them.
 */
export async function takeOut(session: Session, schema: string, table: string, before: number): Promise<void> {
  const day = `${schema}.${table}`;
  // All of the day is read once.
  await session.raw('SET LOCAL enable_seqscan = on');
  const kept = [...(await treeRows(session, schema, day, before)), ...(await neededRows(session, schema, day))];
  await detachDay(session, schema, table);
  if (kept.length === 0) return;
  const ids = numbers([...new Set(kept)]);
  const columns = FINISHED;
  await session.raw(
    `INSERT INTO ${schema}.done (${columns}) SELECT ${columns} FROM ${day} WHERE id = ANY($1::bigint[])`,
    [ids],
  );
  await session.raw(`DELETE FROM ${day} WHERE id = ANY($1::bigint[])`, [ids]);
}

async function treeRows(session: Session, schema: string, day: string, before: number): Promise<readonly number[]> {
  const found = await session.raw<{ root: number }>(
    `SELECT root FROM ${day} WHERE root IS NOT NULL UNION SELECT id FROM ${day} WHERE root IS NULL AND flags & ${TREE} <> 0`,
  );
  if (found.length === 0) return [];
  const roots = numbers(found.map(({ root }) => root));
  const ended = await session.raw<OldRow>(`SELECT id, root, flags FROM ${schema}.done WHERE id = ANY($1::bigint[])`, [
    roots,
  ]);
  const live = await session.raw<{ id: number }>(`SELECT id FROM ${schema}.task WHERE id = ANY($1::bigint[])`, [roots]);
  const closed = await closeTrees(session, ended, before);
  const open = [...ended, ...live].map(({ id }) => id).filter((id) => !closed.has(id));
  // The root goes last: one whose tree has members elsewhere stays until they are gone.
  const rows = await session.raw<{ id: number }>(
    `SELECT id FROM ${day} WHERE root = ANY($1::bigint[]) OR id = ANY($1::bigint[])
      UNION SELECT r.id FROM ${day} r WHERE r.id = ANY($2::bigint[]) AND EXISTS (SELECT FROM ${schema}.done m
        WHERE m.root IS NOT NULL AND m.root = r.id AND m.tableoid <> '${day}'::regclass)`,
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
