import { type Change, isFinal, type TaskState } from './task.ts';

/** One change of one task. Event numbers have no gap and no repeat. An event is written in the same transaction as its change. */
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

/** Events of workers; their kinds are numbered from 100 on, by position. */
export const WORKER_CHANGES = ['registered', 'beat'] as const;
export type WorkerChange = (typeof WORKER_CHANGES)[number];

/** One event of a worker. It stands among the events of tasks and shares their numbers. */
export interface WorkerEvent {
  readonly seq: number;
  readonly at: number;
  readonly change: WorkerChange;
  readonly worker: number;
  /** The name of the worker; empty when it is no longer kept. */
  readonly name: string;
  /** Where it runs, if it has said so. */
  readonly host?: string | undefined;
  /** When it registered. */
  readonly createdAt: number;
}

/** Names of events in other programs. */
export const WORDS = [
  'created',
  'assigned',
  'started',
  'completed',
  'failed',
  'reassigned',
  'cancelled',
  'LEASE_GRANTED',
  'LEASE_EXPIRED',
  'WORKER_REGISTERED',
  'WORKER_HEARTBEAT',
] as const;
export type Word = (typeof WORDS)[number];

/** Everything that the feed carries. */
export type FeedEvent = TaskEvent | WorkerEvent;

export function isTaskEvent(event: FeedEvent): event is TaskEvent {
  return !('worker' in event);
}

/**
 * The names that other programs have for an event. Some events have none, a claim has three. A task that goes back to run
 * again counts as reassigned.
 */
export function wordsOf(event: Pick<TaskEvent, 'change' | 'state'> | Pick<WorkerEvent, 'change'>): readonly Word[] {
  switch (event.change) {
    case 'created':
    case 'completed':
    case 'failed':
    case 'cancelled':
      return [event.change];
    case 'claimed':
      return ['assigned', 'started', 'LEASE_GRANTED'];
    case 'retried':
    case 'released':
      return ['reassigned'];
    case 'expired':
      return ['LEASE_EXPIRED', endOf((event as TaskEvent).state)];
    case 'timed_out':
      return ['failed'];
    case 'registered':
      return ['WORKER_REGISTERED'];
    case 'beat':
      return ['WORKER_HEARTBEAT'];
    case 'staged':
    case 'revived':
    case 'cancel_requested':
    case 'parked':
    case 'woken':
    case 'budget_warned':
      return [];
  }
}

function endOf(state: TaskState): Word {
  return isFinal(state) ? state : 'reassigned';
}

/** Counters of one queue. Those of finished tasks are totals since the beginning; pruning does not lower them. */
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
