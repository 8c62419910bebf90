import { fault } from '../../../core/errors.ts';
import type { PlainError } from '../child/messages.ts';
import type { RunOutcome } from '../runner.ts';
import type { ChildRun } from './child-run.ts';
import { formatMs } from './child-run.ts';

/** How a child process ended. */
export interface ChildDeath {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The uncaught exception. */
  readonly uncaught: PlainError | undefined;
}

/** The outcome of a run whose process has ended. */
export function outcomeOfDeath(run: ChildRun, death: ChildDeath): RunOutcome {
  if (run.outcome !== undefined) return run.outcome;
  const how = describeDeath(death);
  if (!run.started) return { kind: 'unstarted', error: died(`the process ${how} before it took the task`, death) };
  const { reached, reachedAfterMs, why } = run.ladder;
  if (reached === 'SIGTERM' || reached === 'SIGKILL') {
    const message = `the task was told to stop (${why}) and was ended by ${reached} after ${formatMs(reachedAfterMs)}`;
    return { kind: 'failed', error: { name: 'Killed', code: 'KILLED', message } };
  }
  return { kind: 'failed', error: died(`the process of the task ${how}`, death) };
}

export function describeDeath({ code, signal, uncaught }: ChildDeath): string {
  if (signal === 'SIGKILL') return 'was ended by SIGKILL, perhaps because memory ran out';
  if (signal !== null) return `was ended by ${signal}`;
  return `ended with exit code ${code}${uncaught === undefined ? '' : ` after ${uncaught.name}: ${uncaught.message}`}`;
}

/** The error for a module that does not load; nothing was claimed yet. */
export function unloadable(module: string, problem: string, cause?: PlainError): Error {
  return fault(
    'INVALID_INPUT',
    { field: module === '' ? 'list of handler modules' : `handler module ${module}`, problem },
    { hint: 'Correct the module, or leave it out.', cause },
  );
}

function died(message: string, { uncaught }: ChildDeath): PlainError {
  const stack = uncaught?.stack === undefined ? {} : { stack: uncaught.stack };
  return { name: 'ChildDied', code: 'CHILD_DIED', message, ...stack };
}
