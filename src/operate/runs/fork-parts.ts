/** What forks of all kinds of runs share. */
import { fault } from '../../core/errors.ts';
import type { Run, StartedRun } from '../../engine/trees/runs.ts';
import type { RequestOf } from '../../protocol/paths.ts';

export type Fork = RequestOf<'forkRun'>;

/** The word for the place before the first step. */
export const START = 'start';
/** What a fork takes over is in its input, and a task takes a mebibyte. */
export const HINT = 'Fork from an earlier step, or start a run of its own.';

/** A fork is a run of its own, and never one that is there. */
export function freshOf(started: StartedRun, name: string | undefined): Run {
  if (started.fresh) return started.run;
  throw fault('CONFLICT', { problem: `the run ${started.run.id} has the name ${name} already` });
}

/** Entries that are null are taken away. */
export function changedEntries(
  entries: Readonly<Record<string, unknown>>,
  changes: Readonly<Record<string, unknown>> = {},
): ReadonlyMap<string, unknown> {
  const changed = new Map<string, unknown>(Object.entries(entries));
  for (const [key, value] of Object.entries(changes)) {
    if (value === null) changed.delete(key);
    else changed.set(key, value);
  }
  return changed;
}

export function over(run: Run): Error {
  return fault('CONFLICT', { problem: `the run ${run.id} was over after this step` }, { hint: HINT });
}

export function tooLong(run: Run): Error {
  return fault(
    'CONFLICT',
    {
      problem: `the run ${run.id} cannot be forked: it has done more than is read at once, or its journal is not that of its kind`,
    },
    { hint: HINT },
  );
}
