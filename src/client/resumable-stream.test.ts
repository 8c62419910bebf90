import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ResumableStream, resumableStream } from './resumable-stream.ts';
import { REAL_CLOCK, RetryBackoff } from './retry-backoff.ts';

const bytes = new TextEncoder();

function answer(text: string, { end }: { readonly end: boolean }, signal: AbortSignal): Response {
  return new Response(
    new ReadableStream({
      start(controller) {
        controller.enqueue(bytes.encode(text));
        if (end) controller.close();
        else signal.addEventListener('abort', () => controller.error(signal.reason));
      },
    }),
  );
}

function follow(connect: ResumableStream['connect'], options: Partial<ResumableStream> = {}) {
  const clock = { ...REAL_CLOCK, sleep: () => Promise.resolve() };
  return resumableStream({
    connect,
    ends: false,
    backoff: new RetryBackoff(clock, 1e9),
    signal: undefined,
    silentMs: 1e6,
    ...options,
  });
}

test('a connection on which nothing comes is given up, and the next one goes on behind the last message', async () => {
  const lasts: (string | undefined)[] = [];
  const messages = follow(
    async (last, signal) => {
      lasts.push(last);
      return answer(lasts.length === 1 ? 'id: 4\ndata: a\n\n' : 'id: 5\ndata: b\n\n', { end: false }, signal);
    },
    { silentMs: 20, last: '3' },
  );
  assert.deepEqual((await messages.next()).value, { id: '4', data: 'a' });
  assert.deepEqual((await messages.next()).value, { id: '5', data: 'b' });
  await messages.return(undefined);
  assert.deepEqual(lasts, ['3', '4']);
});

test('a stream that has no end of its own goes on when a connection ends in good order', async () => {
  let connections = 0;
  const messages = follow(async (_, signal) =>
    answer(`id: ${++connections}\ndata: ${connections}\n\n`, { end: true }, signal),
  );
  for (const n of ['1', '2', '3']) assert.equal((await messages.next()).value?.data, n);
  await messages.return(undefined);
  const log = follow(async (_, signal) => answer('data: x\n\n', { end: true }, signal), { ends: true });
  assert.deepEqual(await Array.fromAsync(log), [{ data: 'x' }]);
});

test('who leaves in the middle, or by the signal, leaves no connection behind', async () => {
  const signals: AbortSignal[] = [];
  const connect = async (_: string | undefined, signal: AbortSignal): Promise<Response> => {
    signals.push(signal);
    return answer('data: x\n\n', { end: false }, signal);
  };
  for await (const _ of follow(connect)) break;
  const stop = new AbortController();
  const messages = follow(connect, { signal: stop.signal });
  await messages.next();
  const next = messages.next();
  stop.abort();
  assert.equal((await next).done, true);
  assert.deepEqual(
    signals.map(({ aborted }) => aborted),
    [true, true],
  );
});
