import type { Argument } from '../../config/load.ts';

/** How the commands name a task. */
export const ID = {
  name: 'ID',
  doc: 'Public id (task_…) of the task, or its number in this store',
} as const satisfies Argument;
