import { keepsName, type NameTaker, nameTaken } from '../../../../core/placement/name-hold.ts';
import { type HoldRow, holdOf } from '../../../rows/records.ts';
import type { NameHolder, NewWorker } from '../../../store.ts';
import { texts } from '../../arrays.ts';
import type { Session } from '../../connect/database.ts';

/** Refuses whoever has to wait for the name. The caller has locked it. */
export async function requireName(session: Session, name: string, by: NameTaker): Promise<void> {
  const [row] = await session.all<HoldRow & { readonly now: number }>('nameGet', [name]);
  if (row !== undefined && keepsName(holdOf(row, row.now), by)) throw nameTaken(name);
}

export async function takeName(session: Session, { name, incarnation }: NewWorker, by: NameTaker): Promise<void> {
  await session.rows('namePut', [name, incarnation, by.holder, by.process, by.node ?? null]);
}

export async function listHolders(
  session: Session,
  names: readonly string[],
): Promise<readonly (NameHolder | undefined)[]> {
  const rows = await session.all<NameHolder & { readonly name: string }>('nameHolders', [texts(names)]);
  const known = new Map(rows.map(({ name, holder, process }) => [name, { holder, process }]));
  return names.map((name) => known.get(name));
}
