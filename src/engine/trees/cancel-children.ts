import { isFinal } from '../../core/task/task.ts';
import type { CancelAnswer, Store } from '../../store/store.ts';

export interface CancelChildrenDeps {
  readonly store: Pick<Store, 'treeList' | 'taskGet'>;
  readonly cancel: (tasks: readonly number[]) => Promise<readonly CancelAnswer[]>;
}

const PAGE = 1000;
const BATCH = 250;

/**
 * Cancels children of a running task that it needs no more, with all that they have started. Others than its own are left alone. There is no
 * fence: that a child is not needed follows from what is stored, such as another child that won, and so holds for every attempt.
 */
export async function cancelChildren(
  task: number,
  children: readonly number[],
  { store, cancel }: CancelChildrenDeps,
): Promise<void> {
  const [record] = await store.taskGet({ tasks: [task] });
  const root = record?.root ?? task;
  const asked = new Set(children);
  // What is started meanwhile is found in the next pass. A task that was asked to stop starts no more.
  for (;;) {
    const left: number[] = [];
    const below = new Set<number>();
    for (let after = 0; ; ) {
      const page = await store.treeList({ root, after, limit: PAGE });
      // A child has a higher number than its parent.
      for (const one of page) {
        if (!(one.parent === task ? asked.has(one.task) : below.has(one.parent))) continue;
        below.add(one.task);
        if (!isFinal(one.state) && one.cancelRequestedAt === undefined) left.push(one.task);
      }
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE) break;
      after = last.task;
    }
    if (left.length === 0) return;
    for (let from = 0; from < left.length; from += BATCH) await cancel(left.slice(from, from + BATCH));
  }
}
