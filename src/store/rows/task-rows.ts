import { EMPTY_STATS, type QueueStats } from '../../core/task/event.ts';
import { REASONS, type Reason, STATES, type TaskState } from '../../core/task/task.ts';
import { stateOf } from '../codes.ts';
import type { TaskRecord } from '../store.ts';

/** Records of tasks and queues from rows whose columns have the same names in every store. */

export interface TaskRow {
  readonly id: number;
  readonly lane: number;
  readonly spec: number;
  readonly queue: string;
  readonly handler: string;
  readonly state: number;
  readonly prio: number;
  readonly attempt: number;
  readonly tries: number;
  readonly max_tries: number;
  readonly bounces: number;
  readonly flags: number;
  readonly holder: number | null;
  readonly created_at: number;
  readonly started_at: number | null;
  readonly run_at: number | null;
  readonly expires_at: number | null;
  readonly lease_until: number | null;
  readonly cancel_at: number | null;
  readonly payload: string | null;
  readonly ended_at: number | null;
  readonly reason: number;
  readonly result: string | null;
  readonly parent: number | null;
  readonly root: number | null;
}

/** What each store reads in its own way. */
type OwnColumns = Pick<TaskRecord, 'priority' | 'payload' | 'result' | 'unique'>;

export function taskOf(row: TaskRow, own: OwnColumns): TaskRecord {
  const waits = row.state === 3;
  return {
    task: row.id,
    lane: row.lane,
    spec: row.spec,
    queue: row.queue,
    handler: row.handler,
    state: stateOf(row.state),
    reason: REASONS[row.reason] as Reason,
    priority: own.priority,
    attempt: row.attempt,
    tries: row.tries,
    maxTries: row.max_tries,
    bounces: row.bounces,
    holder: row.holder ?? undefined,
    createdAt: row.created_at,
    startedAt: row.started_at ?? undefined,
    finishedAt: row.ended_at ?? undefined,
    runAt: row.state === 2 || row.state === 3 ? (row.run_at ?? undefined) : undefined,
    readySince: row.state === 0 ? (row.run_at ?? row.created_at) : undefined,
    // While it waits for others, both columns are about the time after that.
    expiresAt: row.attempt === 0 && row.ended_at === null && !waits ? (row.expires_at ?? undefined) : undefined,
    leaseUntil: waits ? undefined : (row.lease_until ?? undefined),
    cancelRequestedAt: row.cancel_at ?? undefined,
    payload: own.payload,
    result: own.result,
    unique: own.unique,
    parent: row.parent ?? undefined,
    root: row.root ?? undefined,
  };
}

/** Null: nothing was ever counted. */
export type StatsRow = { readonly [state in TaskState]: number | null };

export function statsOf(row: StatsRow): QueueStats {
  const stats: Record<TaskState, number> = { ...EMPTY_STATS };
  for (const state of STATES) stats[state] = row[state] ?? 0;
  return stats;
}
