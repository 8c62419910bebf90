import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { formatMessage, type Message, writeStream } from './sse.ts';

interface Streaming {
  /** One request, whose answer is not read until somebody asks for it. */
  readonly ask: () => Promise<IncomingMessage>;
  /** The other side of it, and how its stream came out. */
  readonly served: Promise<{ readonly response: ServerResponse; readonly over: Promise<void> }>;
}

/** A real server whose every answer is this stream. */
async function streaming(
  t: TestContext,
  messages: (signal: AbortSignal) => AsyncIterable<Message>,
  signal: AbortSignal = new AbortController().signal,
  before: (response: ServerResponse) => Promise<unknown> = async () => {},
): Promise<Streaming> {
  const served = Promise.withResolvers<{ response: ServerResponse; over: Promise<void> }>();
  const server = createServer((_request, response) => {
    const over = before(response).then(() => writeStream(response, messages, signal));
    over.catch(() => {});
    served.resolve({ response, over });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const ask = async (): Promise<IncomingMessage> => {
    const request = get({ port, host: '127.0.0.1', agent: false });
    request.on('error', () => {});
    const [answer] = (await once(request, 'response')) as [IncomingMessage];
    answer.on('error', () => {});
    return answer;
  };
  return { ask, served: served.promise };
}

async function textOf(answer: IncomingMessage): Promise<string> {
  return Buffer.concat(await Array.fromAsync(answer as AsyncIterable<Buffer>)).toString();
}

/** Messages without end, and how many were asked for. */
function endless(bytes: number): { made: () => number; messages: (signal: AbortSignal) => AsyncIterable<Message> } {
  let made = 0;
  const data = 'x'.repeat(bytes);
  return {
    made: () => made,
    async *messages(signal) {
      while (!signal.aborted) {
        yield { id: String(++made), data };
        await new Promise(setImmediate);
      }
    },
  };
}

/** Until neither the kernel nor the response takes more of it. */
async function full(made: () => number): Promise<void> {
  for (let before = -1; before !== made(); ) {
    before = made();
    for (let turn = 0; turn < 200; turn++) await new Promise(setImmediate);
  }
}

test('a message has its id and kind if there are any, and its data in one line, whatever is in it', () => {
  assert.equal(formatMessage({ data: 1 }), 'data: 1\n\n');
  assert.equal(
    formatMessage({ id: '7', event: 'created', data: { a: 'b' } }),
    'id: 7\nevent: created\ndata: {"a":"b"}\n\n',
  );
  const hostile = 'a\nevent: reset\r\n\r\ndata: 5\u2028\u2029\u0085';
  assert.equal(formatMessage({ data: hostile }).split(/\r\n|\n|\r/).length, 3);
});

test('what has come to its end ends well, and is never cached or held back by a proxy', async (t) => {
  const { ask, served } = await streaming(t, async function* () {
    yield { id: '1', data: 'one' };
    yield { id: '2', data: 'two' };
  });
  const answer = await ask();
  assert.equal(answer.headers['content-type'], 'text/event-stream; charset=utf-8');
  assert.deepEqual([answer.headers['cache-control'], answer.headers['x-accel-buffering']], ['no-store', 'no']);
  assert.equal(await textOf(answer), 'id: 1\ndata: "one"\n\nid: 2\ndata: "two"\n\n');
  await (await served).over;
});

test('headers are there before the first message is', async (t) => {
  const stop = new AbortController();
  const { ask } = await streaming(
    t,
    async function* (signal) {
      await once(signal, 'abort');
      yield { data: 'never' };
    },
    stop.signal,
  );
  assert.equal((await ask()).statusCode, 200);
  stop.abort();
});

test('a stream that fails or is cut off does not look as if it had come to its end', async (t) => {
  const failing = await streaming(t, async function* () {
    yield { data: 'one' };
    throw new Error('the store is away');
  });
  await assert.rejects(failing.ask().then(textOf), { code: 'ECONNRESET' });
  await assert.rejects((await failing.served).over, /the store is away/);

  const stop = new AbortController();
  const { messages } = endless(10);
  const cut = await streaming(t, messages, stop.signal);
  const answer = await cut.ask();
  answer.once('data', () => stop.abort());
  await assert.rejects(textOf(answer), { code: 'ECONNRESET' });
  await (await cut.served).over;
});

test('when the client leaves, its messages are stopped', async (t) => {
  const { ask, served } = await streaming(t, async function* (signal) {
    yield { data: 'one' };
    await once(signal, 'abort');
  });
  const answer = await ask();
  await once(answer, 'data');
  answer.destroy();
  await (await served).over;
});

test('a client that left before its stream began is noticed', async (t) => {
  const looking = Promise.withResolvers<void>();
  const { ask, served } = await streaming(
    t,
    async function* (signal) {
      if (!signal.aborted) await once(signal, 'abort');
      yield { data: 'nobody reads this' };
    },
    undefined,
    (response) => {
      looking.resolve();
      return once(response, 'close');
    },
  );
  const asking = ask();
  asking.catch(() => {});
  const { response, over } = await served;
  await looking.promise;
  response.req.socket.destroy();
  await over;
});

test('a reader that takes nothing makes nothing: messages are made as there is room for them', async (t) => {
  const { made, messages } = endless(1000);
  const { ask, served } = await streaming(t, messages);
  const answer = await ask();
  const { response } = await served;
  await full(made);
  assert.ok(response.writableNeedDrain);
  assert.ok(response.writableLength < 100_000, `${response.writableLength} bytes wait`);
  const stalledAt = made();
  // It goes on where it was, without a gap.
  let next = 1;
  let text = '';
  for await (const chunk of answer) {
    text += String(chunk);
    for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
      assert.ok(text.startsWith(`id: ${next}\n`), `${next} was expected: ${text.slice(0, 20)}`);
      text = text.slice(end + 2);
      next++;
    }
    if (next > stalledAt + 100) break;
  }
});

test('a reader that takes nothing for half a minute is cut off, and not sooner', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { made, messages } = endless(100_000);
  const { ask, served } = await streaming(t, messages);
  await ask();
  const { response, over } = await served;
  await full(made);
  t.mock.timers.tick(29_999);
  assert.equal(response.destroyed, false);
  t.mock.timers.tick(1);
  assert.equal(response.destroyed, true);
  await over;
});

test('while nothing happens a comment goes out every quarter of a minute, so that no proxy cuts the line', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const { ask } = await streaming(t, async function* (signal) {
    await once(signal, 'abort');
    yield { data: 'never' };
  });
  const answer = await ask();
  for (let i = 0; i < 3; i++) {
    const said = once(answer, 'data');
    t.mock.timers.tick(15_000);
    assert.equal(String((await said)[0]), ': still here\n\n');
  }
  answer.destroy();
});

test('waiting for room a thousand times leaves no listener behind', async (t) => {
  const { messages } = endless(60_000);
  const stop = new AbortController();
  const { ask, served } = await streaming(t, messages, stop.signal);
  const answer = await ask();
  let bytes = 0;
  for await (const chunk of answer) {
    bytes += (chunk as Buffer).length;
    if (bytes > 20_000_000) break;
  }
  const { response } = await served;
  assert.ok(response.listenerCount('drain') <= 3, `${response.listenerCount('drain')} listeners`);
  stop.abort();
});
