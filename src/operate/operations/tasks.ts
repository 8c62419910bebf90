import { fault } from '../../core/errors.ts';
import { type CancelAct, isFinal, type RetryAct, type TaskState } from '../../core/task/task.ts';
import type { LogPlace } from '../../engine/records.ts';
import { PER_PAGE } from '../../protocol/defaults.ts';
import type { EngineSnapshot } from '../engine-snapshot.ts';
import type { LogLineView } from '../views.ts';
import type { Operations } from './operation.ts';
import { taskDetail } from './task-detail.ts';
import { taskPage, theseTasks } from './task-page.ts';

/** Reads tasks, and changes one of them or its tree. */
export const taskOperations = {
  listTasks(snapshot, { query = {} }) {
    const { id: ids = [], queue: queues = [], handler: handlers = [], state: states = [] } = query;
    const { from, until, cursor, limit = PER_PAGE } = query;
    if (ids.length > 0) return theseTasks(snapshot, ids, [queues, handlers, states, from, until, cursor]);
    const before = cursor === undefined ? undefined : snapshot.numberOf(cursor);
    return taskPage(snapshot, { queues, handlers, states, from, until, limit, before });
  },

  getTask: (snapshot, { params }) => taskDetail(snapshot, params.id),

  explainTask: (snapshot, { params }) => snapshot.engine.explain(snapshot.numberOf(params.id)),

  async readLog(snapshot, { params: { id }, query: { cursor, limit = PER_PAGE } = {} }) {
    const after = placeOf(cursor);
    const { task } = await snapshot.record(id);
    const lines = await snapshot.engine.logs.read(task, { limit, ...(after === undefined ? {} : { after }) });
    const last = lines.at(-1);
    return { lines, ...(last === undefined ? {} : { cursor: cursorOf(last) }) };
  },

  async listAttempts(snapshot, { params }) {
    return { attempts: (await taskDetail(snapshot, params.id)).attempts };
  },

  async showTree(snapshot, { params }) {
    const members = await snapshot.engine.trees.show(snapshot.numberOf(params.id));
    return { tasks: members.map(({ task: _task, ...member }) => member) };
  },

  async cancelTask(snapshot, { params: { id }, body: { tree = false, dryRun = false }, onProgress, signal }) {
    const { engine } = snapshot;
    const task = snapshot.numberOf(id);
    if (tree) return engine.trees.cancel(task, defined({ dryRun, onProgress, signal }));
    return alone<CancelAct>(snapshot, id, dryRun, async (state) => {
      const answer = dryRun ? wouldCancel(state) : await engine.cancel(task);
      // It was pruned since it was read.
      if (answer === 'unknown') throw fault('NOT_FOUND', { kind: 'task', id });
      return answer;
    });
  },

  async retryTask(snapshot, { params: { id }, body: { tree = false, dryRun = false }, onProgress, signal }) {
    const { engine } = snapshot;
    const task = snapshot.numberOf(id);
    if (tree) return engine.trees.retry(task, defined({ dryRun, onProgress, signal }));
    return alone<RetryAct>(snapshot, id, dryRun, async (state) => {
      // A task that has not ended is left as it is; the engine checks it again in its own write.
      if (!isFinal(state)) return 'unfinished';
      if (!dryRun) await engine.retry(task);
      return 'again';
    });
  },
} satisfies Operations;

/** The outcome for one task, in the form of a tree of one. */
async function alone<Act extends string>(
  snapshot: EngineSnapshot,
  id: string,
  dryRun: boolean,
  act: (before: TaskState) => Promise<Act>,
) {
  const record = await snapshot.record(id);
  const { queue, handler, state } = record;
  const answer = await act(state);
  const tasks = [{ id: snapshot.engine.idOf(record), queue, handler, state, act: answer }];
  const counts: { readonly [A in Act]?: number } = {};
  return { tasks, counts: { ...counts, [answer]: 1 }, dryRun };
}

function wouldCancel(state: TaskState): CancelAct {
  if (isFinal(state)) return 'finished';
  return state === 'running' ? 'requested' : 'cancelled';
}

/** Drops undefined fields. */
function defined<T extends object>(options: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const entries = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]: Exclude<T[K], undefined> };
}

export const cursorOf = ({ attempt, seq }: LogLineView): string => `${attempt}.${seq}`;

export function placeOf(cursor: string | undefined): LogPlace | undefined {
  if (cursor === undefined) return undefined;
  const match = /^(\d{1,15})\.(\d{1,15})$/.exec(cursor);
  if (match === null) throw fault('INVALID_INPUT', { field: 'cursor', problem: 'it is not the cursor of a page' });
  return { attempt: Number(match[1]), seq: Number(match[2]) };
}
