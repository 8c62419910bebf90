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
    for (const { input, result, error } of some) bytes += JSON.stringify([input, result, error]).length;
    before = desk.numberOf((tasks.at(-1) as TaskShape).id);
  }
  return { tasks, more: true };
}
