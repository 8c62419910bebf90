import { fault, isEngineError } from '../../core/errors.ts';
import type { Engine } from '../../engine/engine.ts';
import type { GraphRequest } from '../../engine/push/graphs.ts';
import type { PushRequest } from '../../engine/push/push.ts';
import type { Pushed } from '../../engine/push/pushes.ts';
import type { RequestOf } from '../../protocol/paths.ts';
import type { EngineSnapshot } from '../engine-snapshot.ts';
import type { PushedView, TaskView } from '../views.ts';
import type { Operations } from './operation.ts';

type TaskInput = Exclude<RequestOf<'pushTasks'>, { readonly tasks: unknown }>;
type GraphInput = RequestOf<'pushGraph'>['tasks'][number] & { readonly name: string; readonly op?: string | undefined };
type Upstream = NonNullable<GraphInput['after']>[number];

export const pushOperations = {
  async pushTasks(snapshot, { body, key }) {
    const inputs = 'tasks' in body ? body.tasks : [body];
    const requests = inputs.map((input, i) => requestOf(input, opOf(key, i)));
    const tasks = await shownPushed(snapshot, requests, await pushAll(snapshot.engine, requests));
    return 'tasks' in body ? { tasks } : (tasks[0] as PushedView);
  },

  async pushGraph(snapshot, { body, key }) {
    const inputs = body.tasks.map((input, i) => ({ ...input, name: input.name ?? String(i), op: opOf(key, i) }));
    const requests = graphRequests(snapshot.engine, inputs);
    const tasks = await shownPushed(snapshot, requests, await snapshot.engine.pushGraph(requests));
    return { tasks: tasks.map((task, i) => ({ ...task, name: inputs[i]?.name ?? String(i) })) };
  },
} satisfies Operations;

/** The operation id of a task, from the key of the call and its place in it. */
function opOf(key: string | undefined, place: number): string | undefined {
  return key === undefined ? undefined : `${key}:${place}`;
}

/** The default handler has the name of the queue. */
function requestOf<I extends TaskInput>(
  input: I,
  op: string | undefined,
): I & { handler: string; op: string | undefined } {
  return { ...input, handler: input.handler ?? input.queue, op };
}

/** The dependencies of each task: a name within the graph, or the id of an existing task. A name of the graph counts first. */
export function graphRequests(engine: Engine, inputs: readonly GraphInput[]): readonly GraphRequest[] {
  const names = new Set(inputs.map(({ name }) => name));
  const known = (on: string): string | number => (names.has(on) || !on.startsWith('task_') ? on : engine.parseId(on));
  const upstream = (up: Upstream): NonNullable<GraphRequest['after']>[number] =>
    typeof up === 'string' ? known(up) : { ...up, on: known(up.on) };
  return inputs.map(({ after, op, ...input }) => ({
    ...requestOf(input, op),
    ...(after === undefined ? {} : { after: after.map(upstream) }),
  }));
}

/**
 * Pushes several tasks, all or none. Tasks with limits are pushed one by one, because a limit may refuse a task or end
 * others for it.
 */
async function pushAll(engine: Engine, requests: readonly PushRequest[]): Promise<readonly Pushed[]> {
  const limited = requests.some(({ limits = [] }) => limits.length > 0);
  if (requests.length > 1 && !limited) return engine.pushGraph(requests);
  try {
    return await engine.pushMany(requests);
  } catch (error) {
    if (!isEngineError(error, 'NOT_FOUND') || error.details?.kind !== 'limit') throw error;
    const name = String(error.details.id);
    const hint = `"leasehold limits set ${name}" makes it; "leasehold limits list" shows the limits.`;
    throw fault('NOT_FOUND', { kind: 'limit', id: name }, { hint, cause: error });
  }
}

/** The pushed tasks as they are now. A task that an operation id led to before counts as new: the first answer is repeated. */
async function shownPushed(
  snapshot: EngineSnapshot,
  requests: readonly PushRequest[],
  pushed: readonly Pushed[],
): Promise<readonly PushedView[]> {
  const tasks = await snapshot.shown(pushed.map(({ task }) => task));
  if (tasks.length < pushed.length) throw goneError(pushed, tasks);
  return tasks.map((task, i) => {
    const { op, unique } = requests[i] as PushRequest;
    const fresh = pushed[i]?.fresh === true || (op !== undefined && unique === undefined);
    return { ...task, fresh };
  });
}

/** A key is kept for a day, and its task may have ended and been pruned before that. */
function goneError(pushed: readonly Pushed[], kept: readonly TaskView[]): Error {
  const ids = new Set(kept.map(({ id }) => id));
  const id = pushed.find((one) => !ids.has(one.id))?.id;
  const hint = 'It was pushed before under this key, has ended and is no longer kept.';
  return fault('NOT_FOUND', { kind: 'task', id }, { hint });
}
