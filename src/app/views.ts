import type { QueueStats } from '../core/event.ts';
import type { Reason, TaskState } from '../core/task.ts';
import type { AttemptRecord, TaskRecord, WorkerRecord } from '../store/store.ts';

export type { LogLine } from '../store/store.ts';
export type { Reason, TaskState };

/** A task under its public names. Times are calendar milliseconds; what does not apply is absent. */
export interface TaskView {
  readonly id: string;
  readonly queue: string;
  readonly handler: string;
  readonly state: TaskState;
  readonly reason?: Reason;
  readonly input: unknown;
  readonly result?: unknown;
  readonly error?: unknown;
  readonly priority: number;
  readonly attempt: number;
  readonly tries: number;
  readonly maxAttempts: number;
  readonly createdAt: number;
  readonly runAt?: number;
  readonly startedAt?: number;
  readonly finishedAt?: number;
  readonly worker?: string;
  readonly leaseExpiresAt?: number;
  readonly cancelRequestedAt?: number;
  readonly unique?: string;
}

export interface AttemptView {
  readonly attempt: number;
  readonly worker?: string;
  readonly startedAt?: number;
  readonly endedAt?: number;
  readonly outcome: AttemptRecord['outcome'] | 'running';
  readonly error?: unknown;
}

export interface QueueView extends QueueStats {
  readonly name: string;
  readonly paused: boolean;
}

export interface WorkerView {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly enabled: boolean;
  readonly slots: number;
  readonly running: number;
  readonly tags: readonly string[];
  readonly handlers: readonly string[];
  readonly host?: string;
  readonly pid?: number;
  readonly startedAt?: number;
  readonly lastSeenAt: number;
}

/** What a record alone does not tell. */
export interface Naming {
  readonly idOf: (task: { readonly task: number; readonly createdAt: number }) => string;
  readonly workerName: (worker: number) => string;
  /** Lease time as calendar time. */
  readonly calendarOf: (leaseTime: number) => number;
}

export function viewTask(record: TaskRecord, { idOf, workerName, calendarOf }: Naming): TaskView {
  const { state, reason, runAt, startedAt, finishedAt, holder, leaseUntil, cancelRequestedAt, unique } = record;
  const outcome = record.result === undefined ? undefined : readJson(record.result);
  return {
    id: idOf(record),
    queue: record.queue,
    handler: record.handler,
    state,
    ...(reason === 'none' ? {} : { reason }),
    input: readJson(record.payload),
    ...(outcome === undefined ? {} : state === 'completed' ? { result: outcome } : { error: outcome }),
    priority: record.priority,
    attempt: record.attempt,
    tries: record.tries,
    maxAttempts: record.maxTries,
    createdAt: record.createdAt,
    ...(runAt === undefined ? {} : { runAt }),
    ...(startedAt === undefined ? {} : { startedAt }),
    ...(finishedAt === undefined ? {} : { finishedAt }),
    ...(holder === undefined ? {} : { worker: workerName(holder) }),
    ...(leaseUntil === undefined ? {} : { leaseExpiresAt: calendarOf(leaseUntil) }),
    ...(cancelRequestedAt === undefined ? {} : { cancelRequestedAt }),
    ...(unique === undefined ? {} : { unique }),
  };
}

/** The attempts that did not end the task, and the one that runs or did: that one is the task's own record. */
export function viewAttempts(
  task: TaskRecord,
  attempts: readonly AttemptRecord[],
  { workerName }: Pick<Naming, 'workerName'>,
): readonly AttemptView[] {
  const past = attempts.map(({ attempt, holder, startedAt, endedAt, outcome, error }) => ({
    attempt,
    ...(holder === undefined ? {} : { worker: workerName(holder) }),
    ...(startedAt === undefined ? {} : { startedAt }),
    endedAt,
    outcome,
    ...(error === undefined ? {} : { error: readJson(error) }),
  }));
  const { state, attempt, holder, startedAt, finishedAt, result } = task;
  const waits = state === 'ready' || state === 'scheduled' || state === 'waiting';
  if (waits || attempt === 0 || past.some((one) => one.attempt === attempt)) return past;
  const own: AttemptView = {
    attempt,
    ...(holder === undefined ? {} : { worker: workerName(holder) }),
    ...(startedAt === undefined ? {} : { startedAt }),
    ...(finishedAt === undefined ? {} : { endedAt: finishedAt }),
    outcome: state,
    ...(state !== 'failed' || result === undefined ? {} : { error: readJson(result) }),
  };
  return [...past, own];
}

export function viewWorker(
  record: WorkerRecord,
  { id, running, calendarOf }: { readonly id: string; readonly running: number } & Pick<Naming, 'calendarOf'>,
): WorkerView {
  const { name, enabled, slots, tags, handlers, state, host, pid, startedAt, seenAt } = record;
  return {
    id,
    name,
    state,
    enabled,
    slots,
    running,
    tags,
    handlers,
    ...(host === undefined ? {} : { host }),
    ...(pid === undefined ? {} : { pid }),
    ...(startedAt === undefined ? {} : { startedAt }),
    lastSeenAt: calendarOf(seenAt),
  };
}

/** What a store keeps was made by `encodePayload`; text that is none all the same is shown as it is. */
function readJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
