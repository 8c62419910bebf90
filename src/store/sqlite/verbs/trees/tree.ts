import type { TaskState } from '../../../../core/task/task.ts';
import { type MemberRow, memberOf } from '../../../rows/tree-rows.ts';
import type { TreeRecord } from '../../../store.ts';
import type { Prepared } from '../../file/connection.ts';

export function listMembers(sql: Prepared, root: number, after: number, limit: number): readonly TreeRecord[] {
  return (sql.get('treeList').all(root, after, limit) as unknown as MemberRow[]).map(memberOf);
}

export function countTree(sql: Prepared, root: number): Readonly<Record<TaskState, number>> {
  return { ...(sql.get('treeCount').get(root) as unknown as Record<TaskState, number>) };
}
