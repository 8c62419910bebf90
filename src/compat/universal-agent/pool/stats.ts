import type { WorkerStatus } from './decide.ts';
import type { PoolWorker, WorkerState } from './worker.ts';

/** The figures of a pool, with the keys of Universal Agent. */
export interface PoolStats {
  /** That are there, those on their way out among them. */
  readonly total_workers: number;
  readonly idle_workers: number;
  readonly processing_workers: number;
  /** By all workers that this pool has had. */
  readonly total_completed: number;
  readonly total_failed: number;
  readonly workers: Readonly<Record<string, WorkerStats>>;
}

export interface WorkerStats {
  readonly status: WorkerStatus;
  readonly current_run: string | null;
  readonly completed: number;
  readonly failed: number;
}

/** What workers did that are gone. */
export class Totals {
  completed = 0;
  failed = 0;

  add({ runsCompleted, runsFailed }: WorkerState): void {
    this.completed += runsCompleted;
    this.failed += runsFailed;
  }
}

export function statsOf(workers: readonly PoolWorker[], past: Totals): PoolStats {
  const states = workers.map(({ state }) => state);
  const count = (status: WorkerStatus): number => states.filter((state) => state.status === status).length;
  return {
    total_workers: states.length,
    idle_workers: count('idle'),
    processing_workers: count('processing'),
    total_completed: states.reduce((sum, { runsCompleted }) => sum + runsCompleted, past.completed),
    total_failed: states.reduce((sum, { runsFailed }) => sum + runsFailed, past.failed),
    workers: Object.fromEntries(
      states.map(({ workerId, status, currentRunId, runsCompleted, runsFailed }) => [
        workerId,
        { status, current_run: currentRunId, completed: runsCompleted, failed: runsFailed },
      ]),
    ),
  };
}
