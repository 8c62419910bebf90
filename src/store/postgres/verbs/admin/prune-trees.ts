import { REMOVING, TREE } from '../../../codes.ts';
import { numbers } from '../../arrays.ts';
import type { Session } from '../../connect/database.ts';

/** Finished tasks as the pruner finds them. */
export interface OldRow {
  readonly id: number;
  readonly root: number | null;
  readonly flags: number;
}

export const isRoot = ({ root, flags }: OldRow): boolean => root === null && (flags & TREE) !== 0;

/** Its tree is being removed. */
export const isGoing = ({ flags }: OldRow): boolean => (flags & REMOVING) !== 0;

/**
 * Marks those of these roots whose trees can go as a whole, and returns them. From here on no member can be revived: a
 * revival locks the row of its root, so it either came before and is seen here, or comes after this commit and is
 * refused.
 */
export async function closeTrees(session: Session, roots: readonly OldRow[], before: number): Promise<Set<number>> {
  const going = new Set(roots.filter(isGoing).map(({ id }) => id));
  const asked = roots.map(({ id }) => id).filter((id) => !going.has(id));
  if (asked.length === 0) return going;
  const sorted = numbers(asked.toSorted((a, b) => a - b));
  const held = (await session.rows('pruneRoots', [sorted, before])).map(([id]) => id as number);
  if (held.length === 0) return going;
  // In a statement of its own, which sees what was revived before the lock.
  const closed = (await session.rows('pruneTrees', [numbers(held), before])).map(([id]) => id as number);
  if (closed.length > 0) await session.rows('pruneMark', [numbers(closed)]);
  for (const id of closed) going.add(id);
  return going;
}

/** Members whose root does not exist, because an older program pruned it. No tree will ever take them along. */
export async function rootless(session: Session, rows: readonly OldRow[]): Promise<readonly number[]> {
  const members = rows.filter(({ root }) => root !== null);
  if (members.length === 0) return [];
  const there = await session.rows('stand', [numbers([...new Set(members.map(({ root }) => root))])]);
  const roots = new Set(there.map(([id]) => id));
  return members.filter(({ root }) => !roots.has(root)).map(({ id }) => id);
}

/** Removes a page of the members, and with the last of them the root. */
export async function takeTree(
  session: Session,
  root: number,
  most: number,
): Promise<{ readonly gone: readonly number[]; readonly whole: boolean }> {
  const members = (await session.rows('pruneMembers', [root, most])).map(([id]) => id as number);
  if (members.length >= most) return { gone: members, whole: false };
  const last = (await session.rows('pruneRoot', [root])).map(([id]) => id as number);
  return { gone: [...members, ...last], whole: true };
}
