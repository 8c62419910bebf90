import type { Client } from '../client/client.ts';
import { EngineError, isEngineError } from '../core/errors.ts';
import { encodePayload } from '../core/payload.ts';
import type { TaskState } from '../core/task.ts';
import type { PushRequest } from '../engine/push.ts';
import type { AskedOf } from '../protocol/paths.ts';
import type { GraphPush } from './pushing.ts';

/** A task that a node has taken. */
export interface PushedTask {
  readonly id: string;
  readonly state: TaskState;
  readonly createdAt: number;
  readonly fresh: boolean;
}

type TaskInput = Exclude<AskedOf<'pushTasks'>, { tasks: unknown }>;

/** Of one request; a node takes 5000 and 16 MB. */
const MOST = 1000;
const MOST_BYTES = 4 * 1024 * 1024;

export async function pushOne(client: Client, request: PushRequest): Promise<PushedTask> {
  const { op } = request;
  return pushed((await client.call('pushTasks', { body: wireOf(request), key: op })) as PushedTask);
}

/** All are checked before any is sent. They go in as many requests as they fill; a refusal says how many were stored before. */
export async function pushSeveral(client: Client, requests: readonly PushRequest[]): Promise<readonly PushedTask[]> {
  const done: PushedTask[] = [];
  const parts = Array.from(partsOf(requests));
  for (const part of parts) {
    try {
      const answer = await client.call('pushTasks', { body: { tasks: [...part] } });
      done.push(...(answer as { readonly tasks: readonly PushedTask[] }).tasks.map(pushed));
    } catch (error) {
      throw done.length > 0 && isEngineError(error) ? withStored(error, done.length) : error;
    }
  }
  return done;
}

export async function pushGraph(
  client: Client,
  graph: readonly GraphPush[],
): Promise<readonly (PushedTask & { readonly name: string })[]> {
  if (graph.length === 0) return [];
  const tasks = graph.map(({ name, after, afterFailure, ...request }) => ({
    ...wireOf(request),
    name,
    ...(after === undefined
      ? {}
      : { after: after.map(({ on, ...rest }) => ({ on: typeof on === 'string' ? on : on.id, ...rest })) }),
    ...(afterFailure === undefined ? {} : { afterFailure }),
  }));
  const answer = await client.call('pushGraph', { body: { tasks } });
  return answer.tasks.map((task) => ({ ...pushed(task), name: task.name }));
}

function* partsOf(requests: readonly PushRequest[]): Generator<readonly TaskInput[]> {
  let part: TaskInput[] = [];
  let bytes = 0;
  for (const request of requests) {
    const task = wireOf(request);
    const length = JSON.stringify(task).length;
    if (part.length === MOST || (part.length > 0 && bytes + length > MOST_BYTES)) {
      yield part;
      part = [];
      bytes = 0;
    }
    part.push(task);
    bytes += length;
  }
  if (part.length > 0) yield part;
}

/** The input as it will be stored: what JSON would change is refused here as it is beside a store. */
function wireOf({ op: _op, input, ...request }: PushRequest): TaskInput {
  const task = input === undefined ? request : { ...request, input: JSON.parse(encodePayload(input)) as unknown };
  return task as unknown as TaskInput;
}

/** What it is besides is not told by a store either. */
function pushed({ id, state, createdAt, fresh }: PushedTask): PushedTask {
  return { id, state, createdAt, fresh };
}

function withStored(error: EngineError, stored: number): EngineError {
  const { code, message, status, retryable, hint, details } = error;
  const before = typeof details?.stored === 'number' ? details.stored : 0;
  return new EngineError({
    code,
    message,
    status,
    retryable,
    hint,
    details: { ...details, stored: stored + before },
    cause: error,
  });
}
