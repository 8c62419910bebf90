import { fault, isEngineError } from '../../core/errors.ts';
import type { CancelAct, RetryAct, TaskState } from '../../core/task/task.ts';
import type { TreeOptions, TreeTask } from '../../engine/trees/trees.ts';
import type { Caller } from '../operator.ts';
import type { LogLineView, TaskView } from '../views.ts';

/** Helpers that take several calls of the table, or one call in a fixed way. */

/** Items in a page. */
export const PAGE = 500;
/** Ids in a request. */
const IDS = 50;
/** The timeout of a change to a tree or a queue: a tree may have a hundred thousand tasks. */
export const LONG_MS = 600_000;

export interface TaskQuery {
  readonly queue?: readonly string[];
  readonly state?: readonly TaskState[];
}

/** The newest first, a page at a time. */
export async function* pagesOfTasks(
  caller: Caller,
  query: TaskQuery,
  most: number,
): AsyncGenerator<readonly TaskView[]> {
  let cursor: string | undefined;
  for (let left = most; left > 0; ) {
    const page = await caller.call('listTasks', { query: { ...query, limit: Math.min(PAGE, left), cursor } });
    if (page.tasks.length > 0) yield page.tasks;
    left -= page.tasks.length;
    cursor = page.cursor;
    if (cursor === undefined) return;
  }
}

export async function listTasks(caller: Caller, query: TaskQuery, most: number): Promise<readonly TaskView[]> {
  return (await Array.fromAsync(pagesOfTasks(caller, query, most))).flat();
}

/** The task; undefined when it is no longer kept. */
export async function findTask(caller: Caller, id: string): Promise<TaskView | undefined> {
  return (await caller.call('listTasks', { query: { id: [id] } })).tasks[0];
}

export async function requireTask(caller: Caller, id: string): Promise<TaskView> {
  const task = await findTask(caller, id);
  if (task === undefined) throw fault('NOT_FOUND', { kind: 'task', id });
  return task;
}

/** Tasks by their public ids; those that are no longer kept are left out. */
export async function tasksById(caller: Caller, ids: readonly string[]): Promise<ReadonlyMap<string, TaskView>> {
  const found = new Map<string, TaskView>();
  for (let from = 0; from < ids.length; ) {
    const batch = ids.slice(from, from + IDS);
    const { tasks, cursor } = await caller.call('listTasks', { query: { id: batch } });
    for (const task of tasks) found.set(task.id, task);
    from += cursor === undefined ? batch.length : batch.indexOf(cursor) + 1;
  }
  return found;
}

/** The log of a task as it is now. */
export async function* linesOf(caller: Caller, id: string): AsyncGenerator<LogLineView> {
  let cursor: string | undefined;
  for (;;) {
    const page = await caller.call('readLog', { params: { id }, query: { limit: PAGE, cursor } });
    yield* page.lines;
    if (page.cursor === undefined || page.lines.length < PAGE) return;
    cursor = page.cursor;
  }
}

export async function cancelOne(caller: Caller, id: string, dryRun = false): Promise<CancelAct> {
  return only(await caller.call('cancelTask', { params: { id }, body: { dryRun } })).act;
}

/** `again`: the task is ready again. A state: it has not ended, and nothing was changed. */
export async function retryOne(caller: Caller, id: string, dryRun = false): Promise<'again' | TaskState> {
  const { act, state } = only(await caller.call('retryTask', { params: { id }, body: { dryRun } }));
  return act === 'again' ? act : state;
}

function only<T>({ tasks: [task] }: { readonly tasks: readonly T[] }): T {
  if (task === undefined) throw fault('INTERNAL', { problem: 'the answer has no task' });
  return task;
}

/**
 * The outcome for each id. With several ids all are tried as a dry run first, so that an invalid id is refused before any
 * task is changed.
 */
export async function eachOf<T>(
  caller: Caller,
  ids: readonly string[],
  act: (caller: Caller, id: string, dryRun: boolean) => Promise<T>,
): Promise<readonly (T | 'unknown')[]> {
  const known = (id: string, dryRun: boolean): Promise<T | 'unknown'> =>
    act(caller, id, dryRun).catch((error: unknown) => {
      if (isEngineError(error, 'NOT_FOUND')) return 'unknown' as const;
      throw error;
    });
  if (ids.length > 1) await Promise.all(ids.map((id) => known(id, true)));
  const answers: (T | 'unknown')[] = [];
  for (const id of ids) answers.push(await known(id, false));
  return answers;
}

/** The outcome for the tasks of a tree, and the count of each act. */
export interface TreeView<Act extends string> {
  readonly tasks: readonly Omit<TreeTask<Act>, 'task'>[];
  readonly counts: Readonly<Record<Act, number>>;
  readonly dryRun: boolean;
}

export async function cancelTree(caller: Caller, id: string, options: TreeOptions): Promise<TreeView<CancelAct>> {
  const none = { cancelled: 0, requested: 0, finished: 0 };
  return treeOf<CancelAct>(none, await caller.call('cancelTask', treeAsk(id, options)), options);
}

export async function retryTree(caller: Caller, id: string, options: TreeOptions): Promise<TreeView<RetryAct>> {
  const none = { again: 0, kept: 0, unfinished: 0, blocked: 0 };
  return treeOf<RetryAct>(none, await caller.call('retryTask', treeAsk(id, options)), options);
}

function treeAsk(id: string, { dryRun = false, signal, onProgress }: TreeOptions) {
  return { params: { id }, body: { tree: true, dryRun }, signal, onProgress, timeoutMs: LONG_MS };
}

type TreeCounts<Act extends string> = Omit<TreeView<Act>, 'counts'> & { readonly counts: Partial<Record<Act, number>> };

function treeOf<Act extends string>(
  none: Record<Act, number>,
  { tasks, counts, dryRun }: TreeCounts<Act>,
  { onProgress }: TreeOptions,
): TreeView<Act> {
  // A node does it in one call, and reports no progress between.
  onProgress?.({ found: tasks.length, done: dryRun ? 0 : tasks.length });
  return {
    tasks: tasks.map(({ id, queue, handler, state, act }) => ({ id, queue, handler, state, act })),
    counts: { ...none, ...counts },
    dryRun,
  };
}
