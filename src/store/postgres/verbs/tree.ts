import { EMPTY_STATS } from '../../../core/event.ts';
import { REASONS, type Reason, type TaskState } from '../../../core/task.ts';
import { stateOf } from '../../codes.ts';
import type { TreeRecord } from '../../store.ts';
import type { Session } from '../database.ts';

interface MemberRow {
  readonly id: number;
  readonly parent: number;
  readonly created_at: number;
  readonly queue: string;
  readonly handler: string;
  readonly state: number;
  readonly reason: number;
  readonly attempt: number;
  readonly cancel_at: number | null;
}

export async function listMembers(
  session: Session,
  root: number,
  after: number,
  limit: number,
): Promise<readonly TreeRecord[]> {
  const rows = await session.all<MemberRow>('treeList', [root, after, limit]);
  const first = rows.toSorted((a, b) => a.id - b.id).slice(0, limit);
  return first.map(({ id, parent, created_at, queue, handler, state, reason, attempt, cancel_at }) => ({
    task: id,
    parent,
    createdAt: created_at,
    queue,
    handler,
    state: stateOf(state),
    reason: REASONS[reason] as Reason,
    attempt,
    cancelRequestedAt: cancel_at ?? undefined,
  }));
}

export async function countTree(session: Session, root: number): Promise<Readonly<Record<TaskState, number>>> {
  const counts: Record<TaskState, number> = { ...EMPTY_STATS };
  for (const { state, n } of await session.all<{ state: number; n: number }>('treeCount', [root])) {
    counts[stateOf(state)] += n;
  }
  return counts;
}
