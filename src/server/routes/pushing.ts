import type { FastifyRequest } from 'fastify';
import { fault } from '../../core/errors.ts';
import type { Engine } from '../../engine/engine.ts';
import type { GraphRequest } from '../../engine/graphs.ts';
import type { PushRequest } from '../../engine/push.ts';
import type { Pushed } from '../../engine/pushes.ts';
import { hashOf } from '../../operate/secrets.ts';
import type { AnswerOf, BodyOf } from '../../protocol/routes.ts';
import { callerOf, type Principal } from '../access.ts';
import type { Desk, TaskShape } from '../desk.ts';
import type { PushGuard } from '../push-guard.ts';

type TaskInput = Exclude<BodyOf<'pushTasks'>, { readonly tasks: unknown }>;
type GraphTaskInput = BodyOf<'pushGraph'>['tasks'][number];
type Upstream = NonNullable<GraphTaskInput['after']>[number];
export type PushedShape = Extract<AnswerOf<'pushTasks'>, { readonly id: string }>;

/** Every push that comes over the network, by whichever door, asks here first. */
export async function admit(
  { guard, principal }: { readonly guard: PushGuard; readonly principal: Principal },
  requests: readonly Pick<PushRequest, 'queue'>[],
): Promise<void> {
  const counts = new Map<string, number>();
  for (const { queue } of requests) counts.set(queue, (counts.get(queue) ?? 0) + 1);
  await guard.admit(callerOf(principal), counts);
}

/**
 * All or none of several. What takes of limits goes another way: they may refuse it or end others for it, which they are asked
 * of each task by itself.
 */
export function pushAll(engine: Engine, desk: Desk, requests: readonly PushRequest[]): Promise<readonly Pushed[]> {
  const limited = requests.some(({ limits = [] }) => limits.length > 0);
  return requests.length === 1 || limited ? desk.push(requests) : engine.pushGraph(requests);
}

/** A key is remembered for a day, and what it led to may have ended and be gone before that. */
function gone(pushed: readonly Pushed[], kept: readonly TaskShape[]): Error {
  const ids = new Set(kept.map(({ id }) => id));
  const id = pushed.find((one) => !ids.has(one.id))?.id;
  const hint = 'It was pushed before under this key, has ended and is no longer kept.';
  return fault('NOT_FOUND', { kind: 'task', id }, { hint });
}

export function pushRequest({ handler, ...input }: TaskInput, op: string | undefined): PushRequest {
  return { ...input, handler: handler ?? input.queue, ...(op === undefined ? {} : { op }) } as PushRequest;
}

/** What others know by a name, or a task that exists; a name of the graph goes first. */
export function graphRequest(
  engine: Engine,
  { name, after, afterFailure, ...input }: GraphTaskInput,
  names: ReadonlySet<string>,
  op: string | undefined,
): GraphRequest {
  const known = (on: string): string | number => (names.has(on) || !on.startsWith('task_') ? on : engine.parseId(on));
  const upstream = (up: Upstream): NonNullable<GraphRequest['after']>[number] =>
    typeof up === 'string'
      ? known(up)
      : { on: known(up.on), ...(up.optional === undefined ? {} : { optional: up.optional }) };
  return {
    ...pushRequest(input, op),
    ...(name === undefined ? {} : { name }),
    ...(after === undefined ? {} : { after: after.map(upstream) }),
    ...(afterFailure === undefined ? {} : { afterFailure }),
  };
}

/** What was pushed, as it is now. What a key has led to before counts as new: it is the first answer again. */
export async function shownPushed(
  desk: Desk,
  requests: readonly PushRequest[],
  pushed: readonly Pushed[],
): Promise<readonly PushedShape[]> {
  const tasks = await desk.shown(pushed.map(({ task }) => task));
  if (tasks.length < pushed.length) throw gone(pushed, tasks);
  return tasks.map((task, i) => {
    const { op, unique } = requests[i] as PushRequest;
    const fresh = pushed[i]?.fresh === true || (op !== undefined && unique === undefined);
    return { ...task, fresh };
  });
}

/** The operation ids of one call, by the place of the task. Keys of tasks and of graphs are apart. */
export function operations(
  kind: 'http' | 'graph',
  request: FastifyRequest,
  principal: Principal,
): (place: number) => string | undefined {
  const key = idempotencyKey(request.headers['idempotency-key'], principal);
  return (place) => key && `${kind}:${key}:${place}`;
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
