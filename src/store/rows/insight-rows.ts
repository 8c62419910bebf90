import { REASONS, type Reason } from '../../core/task/task.ts';
import { stateOf } from '../codes.ts';
import type { Failure, TaskCounts, ViewRecord } from '../store.ts';

/** Records of failures, counts and views, from rows whose columns have the same names in every store. */

export interface FailureRow {
  readonly id: number;
  readonly queue: string;
  readonly handler: string;
  readonly reason: number;
  readonly created_at: number;
  readonly ended_at: number | null;
  readonly error: string | null;
}

export function failureOf(row: FailureRow): Failure {
  return {
    task: row.id,
    queue: row.queue,
    handler: row.handler,
    reason: REASONS[row.reason] as Reason,
    createdAt: row.created_at,
    endedAt: row.ended_at ?? row.created_at,
    error: row.error ?? undefined,
  };
}

/** The count of one bucket and state. Tasks that do not match are in bucket -1, so that it is known how many were read. */
export interface CountRow {
  readonly bucket: number;
  readonly state: number;
  readonly tasks: number;
  /** The oldest of them. */
  readonly last: number;
}

export function countsOf(rows: readonly CountRow[]): TaskCounts {
  const counts = rows.filter(({ bucket }) => bucket >= 0);
  return {
    counts: counts.map(({ bucket, state, tasks }) => ({ bucket, state: stateOf(state), tasks })),
    looked: rows.reduce((sum, { tasks }) => sum + tasks, 0),
    last: rows.length === 0 ? undefined : Math.min(...rows.map(({ last }) => last)),
  };
}

export interface ViewRow {
  readonly name: string;
  readonly screen: string;
  readonly query: string;
  readonly saved_by: string;
  readonly saved_at: number;
}

export function viewOf({ name, screen, query, saved_by, saved_at }: ViewRow): ViewRecord {
  return { name, screen, query, by: saved_by, savedAt: saved_at };
}
