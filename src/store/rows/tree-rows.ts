import { REASONS, type Reason } from '../../core/task/task.ts';
import { stateOf } from '../codes.ts';
import type { TreeRecord } from '../port/tree-store.ts';

/** Members of trees from rows whose columns have the same names in every store. */

export interface MemberRow {
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

export function memberOf({ id, created_at, cancel_at, ...row }: MemberRow): TreeRecord {
  return {
    ...row,
    task: id,
    createdAt: created_at,
    state: stateOf(row.state),
    reason: REASONS[row.reason] as Reason,
    cancelRequestedAt: cancel_at ?? undefined,
  };
}
