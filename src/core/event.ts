import type { Change, TaskState } from './task.ts';

/** One thing that happened to one task. Numbers have no gap and no repeat; an event is part of the write that it tells of. */
export interface TaskEvent {
  readonly seq: number;
  readonly at: number;
  readonly queue: string;
  readonly change: Change;
  /** The state after the change, so that replaying the feed rebuilds every task's state. */
  readonly state: TaskState;
  readonly task: number;
  readonly attempt: number;
  readonly createdAt: number;
}

/** Counters of one queue. The finished ones are totals since the beginning; pruning does not lower them. */
export type QueueStats = Readonly<Record<TaskState, number>>;

export const EMPTY_STATS: QueueStats = {
  ready: 0,
  running: 0,
  scheduled: 0,
  waiting: 0,
  completed: 0,
  failed: 0,
  cancelled: 0,
};
