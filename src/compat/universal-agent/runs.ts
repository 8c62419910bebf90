import type { TaskRecord, TaskState } from '../../app/library/manual.ts';

/** The states of a Universal Agent run. */
export type RunStatus = 'queued' | 'running' | 'cancel_requested' | 'completed' | 'failed' | 'cancelled';

/** The work of a run. */
export interface RunSpec {
  readonly prompt: string;
  readonly workspace_dir: string | null;
}

/** A run with the columns of Universal Agent. Times are ISO 8601 in UTC; what does not apply is null. */
export interface Run {
  readonly run_id: string;
  readonly status: RunStatus;
  readonly created_at: string;
  readonly updated_at: string;
  readonly entrypoint: string;
  readonly run_spec: RunSpec;
  readonly workspace_dir: string | null;
  readonly last_job_prompt: string;
  readonly max_iterations: number | null;
  readonly lease_owner: string | null;
  readonly lease_expires_at: string | null;
  readonly last_heartbeat_at: string | null;
  readonly cancel_requested_at: string | null;
  /** The reason that was given first. */
  readonly cancel_reason: string | null;
  /** Grows by one with each lease: the token of the current holder. */
  readonly attempt: number;
  /** Leases that ran out, and the one that is held. */
  readonly attempts: number;
  readonly max_attempts: number;
  readonly result: unknown;
  readonly error: unknown;
  /** Why a run ended that was not completed. */
  readonly terminal_reason: string | null;
  /** `RUN:attempt:N`, the one to come while it waits. */
  readonly latest_attempt_id: string;
  readonly last_success_attempt_id: string | null;
  /** The one whose result counts. */
  readonly canonical_attempt_id: string | null;
}

/** Universal Agent's word for the state of a task. */
export function runStateOf(task: Pick<TaskRecord, 'state' | 'cancelRequestedAt'>): RunStatus {
  switch (task.state) {
    case 'ready':
    case 'scheduled':
    case 'waiting':
      return 'queued';
    case 'running':
      return task.cancelRequestedAt === undefined ? 'running' : 'cancel_requested';
    case 'completed':
    case 'failed':
    case 'cancelled':
      return task.state;
  }
}

/** The task states behind a word of Universal Agent. */
export function taskStatesOf(status: RunStatus): readonly TaskState[] {
  switch (status) {
    case 'queued':
      return ['ready', 'scheduled', 'waiting'];
    case 'running':
    case 'cancel_requested':
      return ['running'];
    case 'completed':
    case 'failed':
    case 'cancelled':
      return [status];
  }
}

export function attemptId(runId: string, attempt: number): string {
  return `${runId}:attempt:${attempt}`;
}

/** The attempt that a run is at: the one to come while it waits. */
export function currentAttempt({ state, attempt }: Pick<TaskRecord, 'state' | 'attempt'>): number {
  const waits = state === 'ready' || state === 'scheduled' || state === 'waiting';
  return waits ? attempt + 1 : Math.max(1, attempt);
}

/** The stored input of the task; the view `runs` reads the same keys. */
export interface StoredSpec {
  readonly prompt?: string;
  readonly workspace_dir?: string | null;
  readonly max_iterations?: number | null;
}

/** What the record alone does not tell. */
export interface RunContext {
  readonly runId: string;
  readonly holder: { readonly name: string; readonly seenAt: number } | undefined;
  /** How far the calendar is ahead of lease time. */
  readonly ahead: number;
  readonly cancelReason: string | undefined;
}

export function runOf(task: TaskRecord, { runId, holder, ahead, cancelReason }: RunContext): Run {
  const spec = (JSON.parse(task.payload) ?? {}) as StoredSpec;
  const { prompt = '', workspace_dir = null, max_iterations = null } = spec;
  const { state, createdAt, startedAt, finishedAt, cancelRequestedAt, leaseUntil, reason } = task;
  const outcome = task.result === undefined ? null : (JSON.parse(task.result) as unknown);
  const running = state === 'running' ? holder : undefined;
  const latest = attemptId(runId, currentAttempt(task));
  return {
    run_id: runId,
    status: runStateOf(task),
    created_at: iso(createdAt),
    updated_at: iso(finishedAt ?? cancelRequestedAt ?? startedAt ?? createdAt),
    entrypoint: task.handler,
    run_spec: { prompt, workspace_dir },
    workspace_dir,
    last_job_prompt: prompt,
    max_iterations,
    lease_owner: running?.name ?? null,
    lease_expires_at: leaseUntil === undefined ? null : iso(leaseUntil + ahead),
    last_heartbeat_at: running === undefined ? null : iso(running.seenAt + ahead),
    cancel_requested_at: cancelRequestedAt === undefined ? null : iso(cancelRequestedAt),
    cancel_reason: cancelReason ?? null,
    attempt: task.attempt,
    attempts: task.tries,
    max_attempts: task.maxTries,
    result: state === 'completed' ? outcome : null,
    error: state === 'completed' ? null : outcome,
    terminal_reason: reason === 'none' ? null : reason,
    latest_attempt_id: latest,
    last_success_attempt_id: state === 'completed' ? latest : null,
    canonical_attempt_id: state === 'completed' ? latest : null,
  };
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
