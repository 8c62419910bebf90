import type { Argument } from '../../config/load.ts';

/** How the commands name a run. */
export const RUN = {
  name: 'RUN',
  doc: 'Name of the run, or the id (task_…) or number of its task',
} as const satisfies Argument;
