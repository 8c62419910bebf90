import { task } from '../define/task.ts';
import { object } from './schema.ts';

const input = object({}, { open: true });

/** Returns its input as results with their number: for a task that gathers what others have come to. */
export const aggregate = task('aggregate', {
  input,
  run: (given) => ({ results: given, result_count: Object.keys(given).length }),
});
