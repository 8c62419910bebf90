/** A2A agents that lie: none holds a worker beyond its time, fills its memory, or ends a run as it did not end. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setImmediate as breathe } from 'node:timers/promises';
import { inspect } from 'node:util';
import { agentHandler, agents } from '../../../src/app/library/agents.ts';
import { type App, open } from '../../../src/app/open.ts';
import type { Wire } from '../../support/node-scene.ts';

/** One call of the worker, and what the agent may do with it. */
interface Asked {
  readonly method: string;
  readonly params: Wire;
  readonly response: ServerResponse;
  /** The number of the call. */
  readonly n: number;
  /** One event of a stream. */
  readonly say: (result: object) => void;
  /** All of an answer that is no stream. */
  readonly answer: (result: object) => void;
}

type Lie = (asked: Asked) => void | Promise<void>;

const MINE = { id: 'mine', contextId: 'c' };
const message = (text: string) => ({ messageId: 'm', role: 'ROLE_AGENT', parts: [{ text }] });
const status = (state: string, text?: string, more: object = {}) => ({
  state: `TASK_STATE_${state}`,
  ...(text === undefined ? {} : { message: message(text) }),
  ...more,
});
const task = (state: string, more: object = {}) => ({ ...MINE, status: status(state), ...more });
const update = (state: string, text?: string, taskId: string = MINE.id) => ({
  statusUpdate: { taskId, contextId: 'c', status: status(state, text) },
});
const artifact = (text: string, taskId: string = MINE.id) => ({
  artifactUpdate: { taskId, contextId: 'c', artifact: { artifactId: 'a', parts: [{ text }] } },
});

interface Scene {
  readonly app: App;
  readonly asked: readonly string[];
  /** What comes of a run that is asked of the liar: its result, or what is wrong with it. */
  readonly run: (more?: object) => Promise<string>;
  readonly url: string;
}

async function liar(t: TestContext, lie: Lie, card: (response: ServerResponse, url: string) => void = honest) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    response.on('error', () => {});
    if (request.url === '/.well-known/agent-card.json') return card(response, url);
    void heard(request, response, asked, lie);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url, asked };
}

function honest(response: ServerResponse, url: string): void {
  const supportedInterfaces = [{ url: `${url}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }];
  const rest = { version: '1', defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'], skills: [] };
  const said = { name: 'liar', description: 'lies', capabilities: { streaming: true }, supportedInterfaces, ...rest };
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(said));
}

async function heard(request: IncomingMessage, response: ServerResponse, asked: string[], lie: Lie): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString()) as Wire;
  asked.push(method);
  const wrapped = (result: object): string => JSON.stringify({ jsonrpc: '2.0', id, result });
  const begin = (type: string): void => {
    if (!response.headersSent) response.writeHead(200, { 'content-type': type });
  };
  await lie({
    method,
    params,
    response,
    n: asked.length,
    say: (result) => {
      begin('text/event-stream');
      response.write(`data: ${wrapped(result)}\n\n`);
    },
    answer: (result) => {
      begin('application/json');
      response.end(wrapped(result));
    },
  });
}

async function scene(t: TestContext, lie: Lie, card?: Parameters<typeof liar>[2]): Promise<Scene> {
  const { url, asked } = await liar(t, lie, card);
  const app = await open('memory:');
  t.after(() => app.close({ drainMs: 0 }));
  const honestOne = (): string => 'I am still here';
  const runs = agentHandler({ allowHttp: ['127.0.0.1:*'], programs: false, functions: { honest: honestOne } });
  await app.worker({ tasks: [runs], name: 'mine' }).start();
  const run = async (more: object = {}): Promise<string> => {
    const gateway = { type: 'a2a', url, timeout: 20, ...more };
    const handle = await app.push(agents(), { gateway, prompt: 'Sum it up', backoffs: [] });
    const end = await handle.result().then(
      (result) => `completed: ${String(result.text)}`,
      (error) => inspect(error),
    );
    // Whatever was said, the worker does its next task.
    const next = await app.push(agents(), { gateway: 'honest', prompt: 'Are you there?' });
    assert.equal((await next.result()).text, 'I am still here');
    return end;
  };
  return { app, asked, run, url };
}

test('what it says of another task ends nothing, in whatever form it comes', async (t) => {
  const ways: readonly Lie[] = [
    ({ say }) => say(update('COMPLETED', 'stolen', 'others')),
    ({ say }) => say(artifact('stolen', 'others')),
    ({ say }) => say({ task: { ...task('COMPLETED'), id: 'others' } }),
    ({ say }) => say({ message: { ...message('stolen'), taskId: 'others' } }),
  ];
  for (const way of ways) {
    const { run } = await scene(t, async (asked) => {
      asked.say({ task: task('WORKING') });
      await way(asked);
      asked.response.end();
    });
    const end = await run();
    assert.match(end, /another task than mine/);
    assert.doesNotMatch(end, /stolen/);
  }
});

test('asked how its task stands, it cannot answer with that of somebody else', async (t) => {
  const { run } = await scene(t, ({ method, say, answer, response }) => {
    if (method === 'GetTask') return answer({ ...task('COMPLETED'), id: 'others', artifacts: [] });
    say({ task: task('WORKING') });
    response.end();
  });
  assert.match(await run(), /another task than mine/);
});

test('the first end counts, and a stream that stays open holds up nobody', async (t) => {
  const ends: readonly (readonly [string, string])[] = [
    ['COMPLETED', 'FAILED'],
    ['FAILED', 'COMPLETED'],
    ['COMPLETED', 'COMPLETED'],
  ];
  for (const [first, second] of ends) {
    const { run } = await scene(t, ({ say }) => {
      say({ task: task('WORKING') });
      say(artifact('the first'));
      say(update(first, 'first words'));
      say(artifact('the second'));
      say(update(second, 'second words'));
    });
    const began = performance.now();
    const end = await run();
    if (first === 'COMPLETED') assert.equal(end, 'completed: the first');
    else assert.match(end, /its task failed: first words/);
    assert.ok(performance.now() - began < 10_000, 'its time is not waited for');
  }
});

test('one that says nothing, nothing new, or never ends, is given up when its time is over, and told so', async (t) => {
  const ways: Readonly<Record<string, Lie>> = {
    'no head': () => {},
    'no body': ({ response }) =>
      void response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': hi\n\n'),
    pings: ({ response }) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const pinging = setInterval(() => response.write(': ping\n\n'), 20);
      response.on('close', () => clearInterval(pinging));
    },
    'at work for ever': ({ say }) => say({ task: task('WORKING') }),
    'a state that there is not': ({ say }) => say({ task: task('WHATEVER') }),
  };
  for (const [how, lie] of Object.entries(ways)) {
    const { run, asked } = await scene(t, lie);
    const began = performance.now();
    assert.match(await run({ timeout: 0.3 }), /TimeoutError/, how);
    assert.ok(performance.now() - began < 8_000, how);
    if (how.includes('for ever')) assert.equal(asked.at(-1), 'CancelTask');
  }
});

test('a flood is cut off: of events, of bytes, of one event, of an answer without an end', {
  timeout: 120_000,
}, async (t) => {
  const large = 'x'.repeat(1024 * 1024);
  const pour = async (response: ServerResponse, text: string): Promise<void> => {
    response.setMaxListeners(0);
    while (!response.destroyed && !response.writableEnded)
      if (response.write(text)) await breathe();
      else await Promise.race([once(response, 'drain'), once(response, 'close')]).catch(() => {});
  };
  const events = JSON.stringify({ jsonrpc: '2.0', id: 0, result: update('WORKING', 'again') });
  const ways: Readonly<Record<string, Lie>> = {
    events: async ({ say, response, n }) => {
      if (n > 1) return void response.end();
      say({ task: task('WORKING') });
      await pour(response, `data: ${events.replace('"id":0', '"id":1')}\n\n`.repeat(100));
    },
    bytes: async ({ say, response }) => {
      say({ task: task('WORKING') });
      await pour(response, `: ${large}\n\n`);
    },
    'one event': async ({ say, response }) => {
      say({ task: task('WORKING') });
      await pour(response, large);
    },
    answer: async ({ response }) => {
      response.writeHead(200, { 'content-type': 'application/json' }).write('"');
      await pour(response, large);
    },
    'an artifact': ({ say }) => {
      for (let i = 0; i < 6; i++) say(artifact(large));
    },
    'a message': ({ say }) => say({ message: message(large.repeat(3)) }),
  };
  for (const [how, lie] of Object.entries(ways)) {
    const { run } = await scene(t, lie);
    const before = process.memoryUsage().rss;
    const end = await run({ timeout: 60 });
    assert.doesNotMatch(end, /^completed|TimeoutError/, `${how}: ${end.slice(0, 200)}`);
    const grown = Math.round((process.memoryUsage().rss - before) / 1024 / 1024);
    t.diagnostic(`${how}: ${grown} MB more; ${/message: '([^']{0,120})/.exec(end)?.[1] ?? ''}`);
    assert.ok(grown < 700, `${how}: ${grown} MB`);
  }
});

test('a redirect is not followed, with the card or with a call', async (t) => {
  const other = await liar(t, ({ answer }) => answer({ task: task('COMPLETED') }));
  const away = (response: ServerResponse): void => void response.writeHead(302, { location: `${other.url}/rpc` }).end();
  const calls = await scene(t, ({ response }) => away(response));
  assert.doesNotMatch(await calls.run(), /^completed/);
  const cards = await scene(t, () => {}, away);
  assert.doesNotMatch(await cards.run(), /^completed/);
  assert.deepEqual(other.asked, []);
});

test('one that asks the same for ever has asked a person once, and is not told again and again', async (t) => {
  const { app, asked, url } = await scene(t, ({ method, say, answer, response }) => {
    if (method === 'GetTask')
      return answer(task('INPUT_REQUIRED', { status: status('INPUT_REQUIRED', 'Which year?') }));
    say({ task: task('INPUT_REQUIRED', { status: status('INPUT_REQUIRED', 'Which year?') }) });
    response.end();
  });
  const gateway = { type: 'a2a', url, timeout: 2 };
  const handle = await app.push(agents(), { gateway, prompt: 'x', backoffs: [] });
  let questions = 0;
  const deciding = (async () => {
    for await (const { change } of handle.events({ after: 0 })) {
      if (change !== 'parked') continue;
      for (const { id } of await app.approvals()) {
        questions++;
        await app.decide(id, { action: 'answer', value: '1999', by: 'ada' });
      }
    }
  })();
  await assert.rejects(handle.result(), (error) => /TimeoutError/.test(inspect(error)));
  await deciding;
  assert.equal(questions, 1);
  assert.equal(asked.filter((method) => method === 'SendStreamingMessage').length, 2, asked.slice(0, 50).join());
  assert.ok(asked.length < 12, `${asked.length} calls`);
});

test('ids, cards and answers that are none are errors, and what they say is not believed', async (t) => {
  const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`;
  for (const id of ['../../etc', 'x'.repeat(10_000), '', 7, null, { a: 1 }]) {
    const { run } = await scene(t, ({ say, response }) => {
      say({ task: { ...task('WORKING'), id } });
      response.end();
    });
    assert.doesNotMatch(await run({ timeout: 2 }), /^completed/, JSON.stringify(id).slice(0, 40));
  }
  for (const said of [
    '{}',
    '{"jsonrpc":"2.0"}',
    'null',
    deep,
    '{"jsonrpc":"2.0","id":1,"result":{"task":{"status":7}}}',
  ]) {
    const { run } = await scene(t, ({ response }) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`data: ${said}\n\n`);
    });
    assert.doesNotMatch(await run({ timeout: 2 }), /^completed/, said.slice(0, 40));
    const cards = await scene(
      t,
      () => {},
      (response) => void response.writeHead(200).end(said),
    );
    assert.doesNotMatch(await cards.run({ timeout: 2 }), /^completed/, said.slice(0, 40));
  }
});
