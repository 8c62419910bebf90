import type { Reason, TaskState } from '../../core/task/task.ts';
import type { LaneName } from './lane-store.ts';

/** The part of the port for reading, cancelling and reviving tasks. */
export interface TaskStore {
  taskGet(params: { readonly tasks: readonly number[] }): Promise<readonly (TaskRecord | undefined)[]>;
  taskList(params: TaskQuery): Promise<readonly TaskRecord[]>;
  /** Attempts that did not end their task, oldest first. The last attempt is in the record of the task. */
  attemptList(params: { readonly task: number }): Promise<readonly AttemptRecord[]>;
  /** Cancels tasks that do not run, and asks the workers of those that do. */
  taskCancel(params: { readonly tasks: readonly number[] }): Promise<readonly CancelAnswer[]>;
  /** Makes finished tasks ready again: tries 0, the attempt keeps growing. */
  taskRevive(params: ReviveParams): Promise<readonly ReviveAnswer[]>;
}

export interface TaskRecord extends LaneName {
  readonly task: number;
  readonly lane: number;
  readonly spec: number;
  readonly state: TaskState;
  readonly reason: Reason;
  readonly priority: number;
  readonly attempt: number;
  readonly tries: number;
  readonly maxTries: number;
  readonly bounces: number;
  readonly holder: number | undefined;
  readonly createdAt: number;
  readonly startedAt: number | undefined;
  readonly finishedAt: number | undefined;
  readonly runAt: number | undefined;
  /** Since when it is ready; undefined while it is not. */
  readonly readySince: number | undefined;
  /** When its wait timeout passes; undefined once it was claimed. */
  readonly expiresAt: number | undefined;
  readonly leaseUntil: number | undefined;
  readonly cancelRequestedAt: number | undefined;
  readonly payload: string;
  readonly result: string | undefined;
  readonly unique: string | undefined;
  /** The parent, and the root of its tree. Undefined: it was pushed, and is its own root. */
  readonly parent: number | undefined;
  readonly root: number | undefined;
}

/** Newest first, below `before`. */
export interface TaskQuery {
  readonly queue?: string;
  /** One of these. */
  readonly handlers?: readonly string[];
  readonly states?: readonly TaskState[];
  readonly before?: number;
  /** Created then or later: calendar time. */
  readonly from?: number;
  /** Created before. */
  readonly until?: number;
  readonly limit: number;
}

export interface AttemptRecord {
  readonly attempt: number;
  readonly holder: number | undefined;
  readonly startedAt: number | undefined;
  readonly endedAt: number;
  readonly outcome: 'retried' | 'released' | 'expired' | 'completed' | 'failed' | 'cancelled' | 'parked';
  readonly error: string | undefined;
}

export type CancelAnswer = 'cancelled' | 'requested' | 'finished' | 'unknown';

export interface ReviveParams {
  readonly tasks: readonly number[];
  /** Journal entries to remove, of tasks that are revived. */
  readonly forget?: readonly { readonly task: number; readonly key: string }[] | undefined;
}

export type ReviveAnswer =
  | { readonly ok: true; readonly lane: number }
  | { readonly ok: false; readonly state: TaskState | undefined };
