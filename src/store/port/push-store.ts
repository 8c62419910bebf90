import type { TaskState } from '../../core/task/task.ts';

/** The part of the port for new tasks. */
export interface PushStore {
  taskPush(params: { readonly items: readonly NewTask[] }): Promise<readonly PushAnswer[]>;
}

export interface NewTask {
  readonly lane: number;
  readonly spec: number;
  readonly priority: number;
  readonly maxTries: number;
  /** JSON text; the store does not look inside. */
  readonly payload: string;
  /** Due this long after the store's present time. */
  readonly delayMs?: number | undefined;
  /** Due at this calendar time. */
  readonly runAt?: number | undefined;
  /** How long it may wait for its first start once it is due. Then it fails. At least 1. */
  readonly waitTimeoutMs?: number | undefined;
  readonly unique?: UniqueKey | undefined;
  /** Operation id: a repeat gets the first answer. */
  readonly op?: string | undefined;
  /** What is pushed, as a hash: the operation id stands for it alone. */
  readonly opHash?: number | undefined;
  /** The key under which its result is looked up and kept, if it does not follow from handler and input. */
  readonly resultKey?: string | undefined;
}

export interface UniqueKey {
  readonly key: string;
  /** A hash of handler and input: the same key with another hash is refused. */
  readonly hash: number;
  readonly windowMs: number;
}

/** The unique key, or with `byOp` the operation id, belongs to a task with other content. */
export interface PushConflict {
  readonly ok: false;
  readonly conflict: number;
  readonly byOp?: true;
}

export type PushAnswer = PushedTask | PushConflict | (LimitRefusal & { readonly ok: false });

export interface PushedTask {
  readonly ok: true;
  readonly task: number;
  readonly createdAt: number;
  readonly state: TaskState;
  /** False if a unique key or an operation id led to an existing task. */
  readonly fresh: boolean;
}

/** The limit takes no more tasks: its backlog is full, or it refuses what it cannot run. */
export interface LimitRefusal {
  readonly limit: string;
  readonly key: string;
}
