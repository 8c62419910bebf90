import { REASONS, type Reason, STATES, type TaskState } from '../../../core/task.ts';
import type { TreeRecord } from '../../store.ts';
import type { Prepared } from '../connection.ts';

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

export function listMembers(sql: Prepared, root: number, after: number, limit: number): readonly TreeRecord[] {
  const rows = sql.get('treeList').all(root, after, limit) as unknown as MemberRow[];
  return rows.map(({ id, parent, created_at, queue, handler, state, reason, attempt, cancel_at }) => ({
    task: id,
    parent,
    createdAt: created_at,
    queue,
    handler,
    state: STATES[state] as TaskState,
    reason: REASONS[reason] as Reason,
    attempt,
    cancelRequestedAt: cancel_at ?? undefined,
  }));
}

export function countTree(sql: Prepared, root: number): Readonly<Record<TaskState, number>> {
  return { ...(sql.get('treeCount').get(root) as unknown as Record<TaskState, number>) };
}
