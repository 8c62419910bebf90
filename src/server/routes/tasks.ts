import { fault } from '../../core/errors.ts';
import { type CancelAct, isFinal, type RetryAct } from '../../core/task.ts';
import type { Engine } from '../../engine/engine.ts';
import type { LogLine, LogPlace } from '../../engine/task-logs.ts';
import type { Desk, TaskShape } from '../desk.ts';
import { type Handlers, Stream } from '../route-handler.ts';
import { admit, graphRequest, operations, type PushedShape, pushAll, pushRequest, shownPushed } from './pushing.ts';
import { taskPage, theseTasks } from './task-page.ts';

export const taskRoutes: Handlers<
  | 'pushTasks'
  | 'pushGraph'
  | 'listTasks'
  | 'getTask'
  | 'explainTask'
  | 'readLog'
  | 'listAttempts'
  | 'showTree'
  | 'cancelTask'
  | 'retryTask'
> = {
  async pushTasks({ body, desk, engine, request, principal, guard }) {
    const inputs = 'tasks' in body ? body.tasks : [body];
    const op = operations('http', request, principal);
    const own = desk();
    const requests = inputs.map((input, i) => pushRequest(input, op(i)));
    await admit({ guard, principal }, requests);
    const pushed = await pushAll(engine, own, requests);
    const tasks = await shownPushed(own, requests, pushed);
    return 'tasks' in body ? { tasks } : (tasks[0] as PushedShape);
  },

  async pushGraph({ body, desk, engine, request, principal, guard }) {
    const op = operations('graph', request, principal);
    const own = desk();
    const names = body.tasks.map(({ name }, i) => name ?? String(i));
    const requests = body.tasks.map((input, i) => graphRequest(engine, input, new Set(names), op(i)));
    await admit({ guard, principal }, requests);
    const pushed = await engine.pushGraph(requests);
    const tasks = await shownPushed(own, requests, pushed);
    return { tasks: tasks.map((task, i) => ({ ...task, name: names[i] as string })) };
  },

  async listTasks({ query, desk }) {
    const { queue: queues, handler: handlers, state: states, from, until, limit, cursor } = query;
    const own = desk();
    if (query.id.length > 0) return theseTasks(own, query);
    const before = cursor === undefined ? undefined : own.numberOf(cursor);
    const { tasks, more } = await taskPage(own, { queues, handlers, states, from, until, limit, before });
    const last = more ? tasks.at(-1)?.id : undefined;
    return { tasks, ...(last === undefined ? {} : { cursor: last }) };
  },

  getTask: ({ params, desk }) => desk().detail(params.id),

  explainTask: ({ params, desk }) => desk().explain(params.id),

  async readLog({ params, query, desk, engine, request }) {
    const own = desk();
    const task = own.numberOf(params.id);
    // A browser that comes back says where it was in a header; it is newer than what the address says.
    const header = query.follow ? lastEventId(request.headers['last-event-id']) : undefined;
    const place = placeOf(header ?? query.cursor);
    const at = place === undefined ? {} : { after: place };
    // Of a task that is not there a stream would end at once, as if it had said nothing.
    if ((await own.shown([task])).length === 0) throw fault('NOT_FOUND', { kind: 'task', id: params.id });
    if (query.follow) return followLog(engine, task, at);
    const lines = await engine.readLog(task, { ...at, limit: query.limit });
    const last = lines.at(-1);
    return { lines, ...(last === undefined ? {} : { cursor: cursorOf(last) }) };
  },

  async listAttempts({ params, desk }) {
    return { attempts: (await desk().detail(params.id)).attempts };
  },

  async showTree({ params, desk }) {
    const own = desk();
    const tasks = await own.tree(own.numberOf(params.id));
    return {
      tasks: tasks.map(({ id, queue, handler, state, after, spawnedBy }) => ({
        id,
        queue,
        handler,
        state,
        after,
        spawnedBy,
      })),
    };
  },

  async cancelTask({ params: { id }, body: { tree, dryRun }, desk, engine }) {
    const own = desk();
    const task = own.numberOf(id);
    if (tree) return own.cancelTree(task, { dryRun });
    return alone<CancelAct>(own, id, dryRun, async ({ state }) => {
      const answer = dryRun ? wouldCancel(state) : await engine.cancel(task);
      // It was removed since it was looked at.
      if (answer === 'unknown') throw fault('NOT_FOUND', { kind: 'task', id });
      return answer;
    });
  },

  async retryTask({ params: { id }, body: { tree, dryRun }, desk, engine }) {
    const own = desk();
    const task = own.numberOf(id);
    if (tree) return own.retryTree(task, { dryRun });
    return alone<RetryAct>(own, id, dryRun, async ({ state }) => {
      // What has not ended is left as it is; the engine decides it again in its own write.
      if (!isFinal(state)) return 'unfinished';
      if (!dryRun) await engine.retry(task);
      return 'again';
    });
  },
};

/** What becomes of one task, in the form of a tree of one. */
async function alone<Act extends string>(
  desk: Desk,
  id: string,
  dryRun: boolean,
  act: (before: TaskShape) => Act | Promise<Act>,
) {
  const [before] = await desk.shown([desk.numberOf(id)]);
  if (before === undefined) throw fault('NOT_FOUND', { kind: 'task', id });
  const answer = await act(before);
  const { queue, handler, state } = before;
  return { tasks: [{ id: before.id, queue, handler, state, act: answer }], counts: { [answer]: 1 }, dryRun };
}

function wouldCancel(state: TaskShape['state']): CancelAct {
  if (isFinal(state)) return 'finished';
  return state === 'running' ? 'requested' : 'cancelled';
}

function followLog(engine: Engine, task: number, at: { after?: LogPlace }): Stream {
  return new Stream(async function* (signal) {
    for await (const line of engine.followLog(task, { ...at, signal })) yield { id: cursorOf(line), data: line };
  });
}

const cursorOf = ({ attempt, seq }: LogLine): string => `${attempt}.${seq}`;

function placeOf(cursor: string | undefined): LogPlace | undefined {
  if (cursor === undefined) return undefined;
  const match = /^(\d{1,15})\.(\d{1,15})$/.exec(cursor);
  if (match === null)
    throw fault('INVALID_INPUT', { field: 'cursor', problem: 'it is not one that a page has ended with' });
  return { attempt: Number(match[1]), seq: Number(match[2]) };
}

export function lastEventId(header: string | readonly string[] | undefined): string | undefined {
  return typeof header === 'string' && header !== '' ? header : undefined;
}
