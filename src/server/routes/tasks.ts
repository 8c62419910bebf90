import { fault } from '../../core/errors.ts';
import { isFinal } from '../../core/task.ts';
import type { Engine } from '../../engine/engine.ts';
import type { PushRequest } from '../../engine/push.ts';
import type { Pushed } from '../../engine/pushes.ts';
import type { LogLine, LogPlace } from '../../engine/task-logs.ts';
import type { BodyOf } from '../../protocol/routes.ts';
import { callerOf, type Principal } from '../access.ts';
import type { Desk, TaskShape } from '../desk.ts';
import { type Handlers, Stream } from '../route-handler.ts';
import { hashOf } from '../secrets.ts';
import { taskPage } from './task-page.ts';

type TaskInput = Exclude<BodyOf<'pushTasks'>, { readonly tasks: unknown }>;
type Tree = Awaited<ReturnType<Desk['cancelTree']>>;

export const taskRoutes: Handlers<
  'pushTasks' | 'listTasks' | 'getTask' | 'explainTask' | 'readLog' | 'listAttempts' | 'cancelTask' | 'retryTask'
> = {
  async pushTasks({ body, desk, engine, request, principal, guard }) {
    const inputs = 'tasks' in body ? body.tasks : [body];
    const key = idempotencyKey(request.headers['idempotency-key'], principal);
    const own = desk();
    const requests = inputs.map((input, i) => pushRequest(input, key && `http:${key}:${i}`));
    await guard.admit(callerOf(principal), countByQueue(requests));
    const pushed = await pushAll(engine, own, requests);
    const tasks = await own.shown(pushed.map(({ task }) => task));
    if (tasks.length < pushed.length) throw gone(pushed, tasks);
    return 'tasks' in body ? { tasks } : (tasks[0] as TaskShape);
  },

  async listTasks({ query, desk }) {
    const { queue: queues, state: states, limit, cursor } = query;
    const own = desk();
    const before = cursor === undefined ? undefined : own.numberOf(cursor);
    const { tasks, more } = await taskPage(own, { queues, states, limit, before });
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

  async cancelTask({ params: { id }, body: { tree, dryRun }, desk, engine }) {
    const own = desk();
    const task = own.numberOf(id);
    if (tree) return own.cancelTree(task, { dryRun });
    return alone(own, id, dryRun, ({ state }) => (dryRun ? wouldCancel(state) : engine.cancel(task)));
  },

  async retryTask({ params: { id }, body: { tree, dryRun }, desk, engine }) {
    const own = desk();
    const task = own.numberOf(id);
    if (tree) return own.retryTree(task, { dryRun });
    return alone(own, id, dryRun, async ({ state }) => {
      // What has not ended is left as it is; the engine decides it again in its own write.
      if (!isFinal(state)) return 'unfinished';
      if (!dryRun) await engine.retry(task);
      return 'again';
    });
  },
};

/** What becomes of one task, in the form of a tree of one. */
async function alone(
  desk: Desk,
  id: string,
  dryRun: boolean,
  act: (before: TaskShape) => string | Promise<string>,
): Promise<Tree> {
  const [before] = await desk.shown([desk.numberOf(id)]);
  if (before === undefined) throw fault('NOT_FOUND', { kind: 'task', id });
  const answer = await act(before);
  const { queue, handler, state } = before;
  return { tasks: [{ id: before.id, queue, handler, state, act: answer }], counts: { [answer]: 1 }, dryRun };
}

function wouldCancel(state: TaskShape['state']): string {
  if (isFinal(state)) return 'finished';
  return state === 'running' ? 'requested' : 'cancelled';
}

/**
 * All or none of several. What takes of limits goes another way: they may refuse it or end others for it, which they are asked
 * of each task by itself.
 */
function pushAll(engine: Engine, desk: Desk, requests: readonly PushRequest[]): Promise<readonly Pushed[]> {
  const limited = requests.some(({ limits = [] }) => limits.length > 0);
  return requests.length === 1 || limited ? desk.push(requests) : engine.pushGraph(requests);
}

function countByQueue(requests: readonly PushRequest[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { queue } of requests) counts.set(queue, (counts.get(queue) ?? 0) + 1);
  return counts;
}

/** A key is remembered for a day, and what it led to may have ended and be gone before that. */
function gone(pushed: readonly Pushed[], kept: readonly TaskShape[]): Error {
  const ids = new Set(kept.map(({ id }) => id));
  const id = pushed.find((one) => !ids.has(one.id))?.id;
  const hint = 'It was pushed before under this key, has ended and is no longer kept.';
  return fault('NOT_FOUND', { kind: 'task', id }, { hint });
}

function pushRequest({ handler, ...input }: TaskInput, op: string | undefined): PushRequest {
  return { ...input, handler: handler ?? input.queue, ...(op === undefined ? {} : { op }) } as PushRequest;
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

const MAX_KEY = 200;

/** The key of this caller, as short and plain as an operation id must be. A token that was rotated keeps its name, and so its keys. */
function idempotencyKey(
  header: string | readonly string[] | undefined,
  { name, token }: Principal,
): string | undefined {
  if (header === undefined) return undefined;
  if (typeof header !== 'string' || header.length === 0 || header.length > MAX_KEY) {
    throw fault('INVALID_INPUT', { field: 'Idempotency-Key', problem: `it has between 1 and ${MAX_KEY} characters` });
  }
  return hashOf(JSON.stringify([token === undefined ? 'node' : 'token', name, header]));
}
