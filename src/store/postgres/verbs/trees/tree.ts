import { EMPTY_STATS } from '../../../../core/task/event.ts';
import type { TaskState } from '../../../../core/task/task.ts';
import { stateOf } from '../../../codes.ts';
import { type MemberRow, memberOf } from '../../../rows/tree-rows.ts';
import type { TreeRecord } from '../../../store.ts';
import type { Session } from '../../connect/database.ts';

export async function listMembers(
  session: Session,
  root: number,
  after: number,
  limit: number,
): Promise<readonly TreeRecord[]> {
  const rows = await session.all<MemberRow>('treeList', [root, after, limit]);
  const first = rows.toSorted((a, b) => a.id - b.id).slice(0, limit);
  return first.map(memberOf);
}

export async function countTree(session: Session, root: number): Promise<Readonly<Record<TaskState, number>>> {
  const counts: Record<TaskState, number> = { ...EMPTY_STATS };
  for (const { state, n } of await session.all<{ state: number; n: number }>('treeCount', [root])) {
    counts[stateOf(state)] += n;
  }
  return counts;
}
