import { EngineError, isEngineError } from '../../core/errors.ts';
import { encodePayload } from '../../core/task/payload.ts';
import type { PushRequest } from '../../engine/push/push.ts';
import type { RequestOf } from '../../protocol/paths.ts';
import type { Caller } from '../operator.ts';
import type { PushedView } from '../views.ts';

export type { PushRequest };

type TaskInput = Extract<RequestOf<'pushTasks'>, { readonly queue: string }>;

/** Tasks in one request; a node takes 5000 and 16 MB. */
const MOST = 1000;
const MOST_BYTES = 4 * 1024 * 1024;

/** A repeat with the same operation id gives the first answer. */
export async function pushOne(caller: Caller, request: PushRequest): Promise<PushedView> {
  const answer = await caller.call('pushTasks', { body: wireOf(request), key: request.op });
  return 'tasks' in answer ? (answer.tasks[0] as PushedView) : answer;
}

/**
 * All are checked before any is sent. They go in as many requests as they fill; a refusal says how many were stored, and the ids of
 * these by place in `details.pushed`.
 */
export async function pushSeveral(caller: Caller, requests: readonly PushRequest[]): Promise<readonly PushedView[]> {
  const done: PushedView[] = [];
  const parts = Array.from(partsOf(requests));
  for (const part of parts) {
    try {
      const answer = await caller.call('pushTasks', { body: { tasks: part } });
      done.push(...('tasks' in answer ? answer.tasks : [answer]));
    } catch (error) {
      throw done.length > 0 && isEngineError(error) ? withStored(error, done, requests.length) : error;
    }
  }
  return done;
}

/** The input as it will be stored. A value that JSON would change is refused here as it is beside a store. */
export function wireOf<R extends PushRequest>({ op: _op, ...request }: R): Omit<R, 'op'> {
  const { input } = request;
  return input === undefined ? request : { ...request, input: JSON.parse(encodePayload(input)) as unknown };
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

function withStored(error: EngineError, done: readonly PushedView[], count: number): EngineError {
  const { code, message, status, retryable, hint, details } = error;
  const beside = Array.isArray(details?.pushed) ? (details.pushed as readonly (string | null)[]) : [];
  const known = [...done.map(({ id }) => id), ...beside];
  const pushed = Array.from({ length: count }, (_, i) => known[i] ?? null);
  const stored = pushed.filter((id) => id !== null).length;
  const index = typeof details?.index === 'number' ? { index: done.length + details.index } : {};
  return new EngineError({
    code,
    message,
    status,
    retryable,
    hint,
    details: { ...details, ...index, stored, pushed },
    cause: error,
  });
}
