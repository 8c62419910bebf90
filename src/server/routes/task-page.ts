import { fault } from '../../core/errors.ts';
import type { AnswerOf, QueryOf } from '../../protocol/routes.ts';
import type { Desk, TaskShape } from '../desk.ts';

/** A page is done when it has so much. 500 tasks with a megabyte each in one answer held the loop for 6 s, and took 1.7 GB. */
const ENOUGH_BYTES = 4 * 1024 * 1024;
/** So many are read before it is known how large they are. */
const STEP = 20;

/** Tasks of one page, and whether there may be more behind them. Large ones make it shorter than it was asked for. */
export async function taskPage(
  desk: Desk,
  { limit, ...filter }: Parameters<Desk['list']>[0],
): Promise<{ readonly tasks: readonly TaskShape[]; readonly more: boolean }> {
  const tasks: TaskShape[] = [];
  let { before } = filter;
  for (let bytes = 0; tasks.length < limit && bytes < ENOUGH_BYTES; ) {
    const count = Math.min(STEP, limit - tasks.length);
    const some = await desk.list({ ...filter, before, limit: count });
    tasks.push(...some);
    if (some.length < count) return { tasks, more: false };
    bytes += bytesOf(some);
    before = desk.numberOf((tasks.at(-1) as TaskShape).id);
  }
  return { tasks, more: true };
}

/** Tasks by their ids. The cursor is the last one that was looked at, where large ones have filled the page before the others. */
export async function theseTasks(desk: Desk, query: QueryOf<'listTasks'>): Promise<AnswerOf<'listTasks'>> {
  const { id: ids, queue, handler, state, from, until, cursor } = query;
  if (queue.length + handler.length + state.length > 0 || (cursor ?? from ?? until) !== undefined) {
    throw fault('INVALID_INPUT', { field: 'query.id', problem: 'it goes with no other filter and no cursor' });
  }
  const numbers = ids.map((id) => desk.numberOf(id));
  const tasks: TaskShape[] = [];
  for (let from = 0, bytes = 0; from < ids.length; from += FEW) {
    if (bytes >= ENOUGH_BYTES) return { tasks, cursor: ids[from - 1] as string };
    const some = await desk.shown(numbers.slice(from, from + FEW));
    tasks.push(...some);
    bytes += bytesOf(some);
  }
  return { tasks };
}

/** A task has a megabyte at most, and its result another. */
const FEW = 10;

function bytesOf(tasks: readonly TaskShape[]): number {
  return tasks.reduce((sum, { input, result, error }) => sum + JSON.stringify([input, result, error]).length, 0);
}
