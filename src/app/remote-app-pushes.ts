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
  const { answer, repeated } = await client.callOnce('pushTasks', { body: wireOf(request).task, key: op });
  return pushed(answer as PushedTask, request, repeated);
}

/** All are checked before any is sent. They go in as many requests as they fill; a refusal says how many were stored before. */
export async function pushSeveral(client: Client, requests: readonly PushRequest[]): Promise<readonly PushedTask[]> {
  const done: PushedTask[] = [];
  for (const part of [...partsOf(requests)]) {
    try {
      const { answer, repeated } = await client.callOnce('pushTasks', { body: { tasks: part.map(({ task }) => task) } });
      const { tasks } = answer as { readonly tasks: readonly PushedTask[] };
      done.push(...tasks.map((task, i) => pushed(task, part[i]?.request as PushRequest, repeated)));
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
    ...wireOf(request).task,
    name,
    ...(after === undefined
      ? {}
      : { after: after.map(({ on, ...rest }) => ({ on: typeof on === 'string' ? on : on.id, ...rest })) }),
    ...(afterFailure === undefined ? {} : { afterFailure }),
  }));
  const { answer, repeated } = await client.callOnce('pushGraph', { body: { tasks } });
  return answer.tasks.map((task, i) => ({
    ...pushed(task, graph[i] as GraphPush, repeated),
    name: task.name,
  }));
}

interface Part {
  readonly request: PushRequest;
  readonly task: TaskInput;
  readonly bytes: number;
}

function* partsOf(requests: readonly PushRequest[]): Generator<readonly Part[]> {
  let part: Part[] = [];
  let bytes = 0;
  for (const one of requests.map(wireOf)) {
    if (part.length === MOST || (part.length > 0 && bytes + one.bytes > MOST_BYTES)) {
      yield part;
      part = [];
      bytes = 0;
    }
    part.push(one);
    bytes += one.bytes;
  }
  if (part.length > 0) yield part;
}

/** The input as it will be stored: what JSON would change is refused here as it is beside a store. */
function wireOf(request: PushRequest): Part {
  const { op: _op, input, ...rest } = request;
  const text = input === undefined ? undefined : encodePayload(input);
  const task = { ...rest, ...(text === undefined ? {} : { input: JSON.parse(text) as unknown }) };
  return { request, task: task as unknown as TaskInput, bytes: text?.length ?? 0 };
}

/**
 * A call that had to be repeated finds what its first try has stored, and that was new. Where a unique key is given too, nobody
 * knows which of the two has led there.
 */
function pushed(task: PushedTask, { unique, op }: PushRequest, repeated: boolean): PushedTask {
  const { id, state, createdAt, fresh } = task;
  return { id, state, createdAt, fresh: fresh || (repeated && unique === undefined && op === undefined) };
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
