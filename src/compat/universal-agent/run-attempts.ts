import type { AttemptRecord, TaskRecord } from '../../app/library/manual.ts';
import { attemptId, currentAttempt, runStateOf } from './runs.ts';

/** One attempt at a run, with the columns of Universal Agent. Times are ISO 8601 in UTC; what does not apply is null. */
export interface RunAttempt {
  readonly attempt_id: string;
  readonly run_id: string;
  readonly attempt_number: number;
  readonly status: 'queued' | 'running' | 'cancel_requested' | 'completed' | 'failed' | 'cancelled';
  readonly lease_owner: string | null;
  readonly started_at: string | null;
  readonly ended_at: string | null;
  /** `worker_exception`, `run_handler_failed`, `max_iterations`, `lease_expired` … */
  readonly failure_class: string | null;
  readonly failure_reason: string | null;
  /** Why there is this attempt: `initial_queue`, `lease_expired`, `handler_failed`, `released`, `woken`, `requeued`. */
  readonly retry_reason: string;
}

/** Past attempts as the store has them, and the one that the record of the task tells of. */
export function attemptsOf(
  runId: string,
  task: TaskRecord,
  past: readonly AttemptRecord[],
  workerName: (worker: number) => string | null,
): readonly RunAttempt[] {
  const attempts: RunAttempt[] = [];
  let reason = 'initial_queue';
  const add = (number: number, rest: Omit<RunAttempt, 'attempt_id' | 'run_id' | 'attempt_number' | 'retry_reason'>) =>
    attempts.push({
      attempt_id: attemptId(runId, number),
      run_id: runId,
      attempt_number: number,
      ...rest,
      retry_reason: reason,
    });
  for (const { attempt, holder, startedAt, endedAt, outcome, error } of past) {
    add(attempt, {
      status: statusOf(outcome),
      lease_owner: holder === undefined ? null : workerName(holder),
      started_at: iso(startedAt),
      ended_at: iso(endedAt),
      ...failureOf(outcome, error),
    });
    reason = REASONS[outcome];
  }
  const current = currentAttempt(task);
  if (attempts.at(-1)?.attempt_number === current) return attempts;
  const { holder, startedAt, finishedAt, result } = task;
  const status = runStateOf(task);
  const waits = status === 'queued';
  add(current, {
    status,
    lease_owner: waits || holder === undefined ? null : workerName(holder),
    started_at: waits ? null : iso(startedAt),
    ended_at: iso(finishedAt),
    ...(status === 'failed' ? failureOf('failed', result) : NO_FAILURE),
  });
  return attempts;
}

const NO_FAILURE = { failure_class: null, failure_reason: null } as const;

const REASONS: Readonly<Record<AttemptRecord['outcome'], string>> = {
  retried: 'handler_failed',
  released: 'released',
  expired: 'lease_expired',
  parked: 'woken',
  completed: 'requeued',
  failed: 'requeued',
  cancelled: 'requeued',
};

/** An attempt that did not end its run has failed, unless it gave the run back in order. */
function statusOf(outcome: AttemptRecord['outcome']): RunAttempt['status'] {
  switch (outcome) {
    case 'completed':
    case 'cancelled':
      return outcome;
    case 'released':
    case 'parked':
      return 'queued';
    case 'failed':
    case 'expired':
    case 'retried':
      return 'failed';
  }
}

function failureOf(
  outcome: AttemptRecord['outcome'],
  error: string | undefined,
): Pick<RunAttempt, 'failure_class' | 'failure_reason'> {
  const said = (error === undefined ? undefined : JSON.parse(error)) as { [key: string]: unknown } | string | undefined;
  const { failure_class: named, code, message } = typeof said === 'object' && said !== null ? said : {};
  const kind = named ?? code;
  const reason = typeof message === 'string' ? message : typeof said === 'string' ? said : null;
  if (outcome === 'expired') return { failure_class: 'lease_expired', failure_reason: reason };
  if (outcome !== 'failed' && outcome !== 'retried') return NO_FAILURE;
  return { failure_class: typeof kind === 'string' ? kind : 'error', failure_reason: reason };
}

function iso(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}
