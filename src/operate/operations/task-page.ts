import { fault } from '../../core/errors.ts';
import type { AnswerOf } from '../../protocol/routes.ts';
import type { EngineSnapshot, TaskFilter } from '../engine-snapshot.ts';
import type { TaskView } from '../views.ts';

/** A page ends at this size. 500 tasks with a megabyte each in one answer blocked the event loop for 6 s and took 1.7 GB. */
const ENOUGH_BYTES = 4 * 1024 * 1024;
/** Tasks in one read, while their size is unknown. */
const STEP = 20;
/** A task has a megabyte at most, and its result another. */
const FEW = 10;

/** One page of tasks; the cursor says that there may be more. Large tasks make the page shorter than requested. */
export async function taskPage(
  snapshot: EngineSnapshot,
  { limit, ...filter }: TaskFilter,
): Promise<AnswerOf<'listTasks'>> {
  const tasks: TaskView[] = [];
  let { before } = filter;
  for (let bytes = 0; tasks.length < limit && bytes < ENOUGH_BYTES; ) {
    const count = Math.min(STEP, limit - tasks.length);
    const some = await snapshot.list({ ...filter, before, limit: count });
    tasks.push(...some);
    const last = some.at(-1);
    if (last === undefined || some.length < count) return { tasks };
    bytes += bytesOf(some);
    before = snapshot.numberOf(last.id);
  }
  const cursor = tasks.at(-1)?.id;
  return { tasks, ...(cursor === undefined ? {} : { cursor }) };
}

/** Tasks by their ids. The cursor is the last id that was read, where large tasks filled the page before the others. */
export async function theseTasks(
  snapshot: EngineSnapshot,
  ids: readonly string[],
  others: readonly unknown[],
): Promise<AnswerOf<'listTasks'>> {
  if (others.some((one) => one !== undefined && !(Array.isArray(one) && one.length === 0))) {
    throw fault('INVALID_INPUT', {
      field: 'query.id',
      problem: 'it cannot be combined with another filter or a cursor',
    });
  }
  const numbers = ids.map((id) => snapshot.numberOf(id));
  const tasks: TaskView[] = [];
  for (let from = 0, bytes = 0; from < ids.length; from += FEW) {
    if (bytes >= ENOUGH_BYTES) return { tasks, cursor: ids[from - 1] as string };
    const some = await snapshot.shown(numbers.slice(from, from + FEW));
    tasks.push(...some);
    bytes += bytesOf(some);
  }
  return { tasks };
}

function bytesOf(tasks: readonly TaskView[]): number {
  return tasks.reduce((sum, { input, result, error }) => sum + JSON.stringify([input, result, error]).length, 0);
}
