/**
 * Every door with the same hostile inputs, counted. Each input is sent to a real node, or answered by a false one, and judged:
 * refused in its form, within a time, and the node is well afterwards. The report says how many were tried at each door.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { Client } from '../../src/client/client.ts';
import { isEngineError } from '../../src/core/errors.ts';
import { temporaryFolder } from '../support/leasehold.ts';
import type { Answer, NodeScene } from '../support/node-scene.ts';
import { RawWorker } from '../support/raw-worker.ts';
import { HOSTILE_JSON, hostileTexts } from './hostile-json.ts';
import { bytes, comeIn, target } from './scene.ts';

const LEAST_IN_ALL = 400;
const MOST_MS = 5000;
const tried = new Map<string, number>();

/** Counts one input at a door, and holds its time. */
async function at<T>(door: string, input: string, work: () => Promise<T>): Promise<T> {
  const began = performance.now();
  const done = await work().catch((error: unknown) => {
    throw new Error(`${door}: ${JSON.stringify(input.slice(0, 200))}`, { cause: error });
  });
  const took = performance.now() - began;
  assert.ok(took < MOST_MS, `${door}: ${JSON.stringify(input.slice(0, 200))} took ${took.toFixed()} ms`);
  tried.set(door, (tried.get(door) ?? 0) + 1);
  return done;
}

after(() => {
  const total = [...tried.values()].reduce((sum, n) => sum + n, 0);
  for (const [door, n] of tried) console.log(`${String(n).padStart(5)}  ${door}`);
  console.log(`${String(total).padStart(5)}  hostile inputs in all`);
  assert.ok(tried.size >= 10 && total >= LEAST_IN_ALL, `${total} inputs at ${tried.size} doors`);
});

interface Door {
  readonly node: NodeScene;
  /** Still there, without a complaint. */
  readonly well: () => Promise<void>;
}

async function door(t: TestContext, options = {}): Promise<Door> {
  const { node, log } = await target(t, { bounds: { rate: 0, queued: 0, queuedInAll: 0 }, ...options });
  const well = async (): Promise<void> => {
    assert.equal((await node.ask('/readyz')).status, 200);
    assert.equal((await node.ask('/api/v1/tasks?limit=1')).status, 200);
    assert.deepEqual(
      log.filter(({ level }) => level === 'error'),
      [],
    );
  };
  return { node, well };
}

/** The statuses that are a good answer to something hostile. */
function judge({ status, body }: Answer, allowed: readonly number[]): void {
  assert.ok(allowed.includes(status), `${status} ${JSON.stringify(body).slice(0, 300)}`);
  assert.doesNotMatch(JSON.stringify(body), /\bat .*\.ts:\d|SQLITE_|postgres:\/\//, 'no stack and no driver shows');
}

const encoded = (text: string): string => encodeURIComponent(text.toWellFormed()) || '%20';

test('catalogue: HTTP, open routes', async (t) => {
  const { node, well } = await door(t);
  for (const path of ['/ui/login', '/api/v1/workers/enrol'])
    for (const body of HOSTILE_JSON)
      await at('HTTP, open routes', body, async () =>
        judge(await node.ask(path, { method: 'POST', token: null, body }), [400, 401, 413, 429]),
      );
  for (const text of hostileTexts(20))
    for (const path of ['/healthz', '/.well-known/agent-card.json'])
      await at('HTTP, open routes', text, async () =>
        judge(await node.ask(`${path}?${encoded(text)}=1`, { token: null }), [400]),
      );
  await well();
});

test('catalogue: HTTP with a token', async (t) => {
  const { node, well } = await door(t);
  for (const path of ['/api/v1/tasks', '/api/v1/graphs', '/api/v1/workers', '/api/v1/tokens'])
    for (const body of HOSTILE_JSON.filter((text) => text !== ''))
      await at('HTTP with a token', body, async () =>
        judge(await node.ask(path, { method: 'POST', body }), [400, 413]),
      );
  for (const text of hostileTexts(60))
    await at('HTTP with a token', text, async () =>
      judge(await node.ask(`/api/v1/tasks/${encoded(text).replaceAll('.', '%2e')}`), [400, 404]),
    );
  await well();
});

test('catalogue: WebSocket of workers', async (t) => {
  const { node, well } = await door(t);
  const { secret } = await node.call('createWorker', '/api/v1/workers', { body: { name: 'box' } });
  for (const text of HOSTILE_JSON)
    await at('WebSocket of workers, first message', text, async () => {
      const worker = await RawWorker.dial(node.service.address);
      worker.say(text);
      await worker.closed;
      assert.ok(
        worker.heard.every(({ type }) => type === 'connect_rejected'),
        JSON.stringify(worker.heard),
      );
    });
  for (const text of HOSTILE_JSON)
    await at('WebSocket of workers, frames', text, async () => {
      const worker = await comeIn(node, { name: 'box', secret });
      worker.say(text);
      const answered = worker.ask('cancels', {}, 7).catch(() => undefined);
      await Promise.race([answered, worker.closed]);
      assert.ok(worker.heard.every(({ error }) => error?.code !== 'INTERNAL'));
      await worker.hangUp();
    });
  await well();
});

test('catalogue: WebSocket of dazflow agents', async (t) => {
  const { node, well } = await door(t, { agents: { byPath: true } });
  const { secret } = await node.call('createWorker', '/api/v1/workers', { body: { name: 'agent', handlers: null } });
  const connected = async (): Promise<RawWorker> => {
    for (;;) {
      const agent = await RawWorker.dial(node.service.address);
      agent.say({ type: 'connect', name: 'agent', secret });
      const said = await agent.hear(({ type }) => type.startsWith('connect_'));
      if (said.type === 'connect_ok') return agent;
      await agent.closed;
    }
  };
  const frames = [
    ...HOSTILE_JSON,
    ...hostileTexts(20).map((text) => JSON.stringify({ type: 'task_claim', task_id: text })),
    ...hostileTexts(10).map((text) => JSON.stringify({ type: text, task_id: 'x' })),
    JSON.stringify({ type: 'task_progress', task_id: 'x', logs: Array(20_001).fill('x') }),
    JSON.stringify({ type: 'task_complete', task_id: 'x', result: { __proto__: 1 } }),
  ];
  for (const text of frames)
    await at('WebSocket of dazflow agents', text, async () => {
      const agent = await connected();
      agent.say(text);
      agent.say({ type: 'task_claim', task_id: 'nothing' });
      await Promise.race([agent.hear(({ type }) => type === 'task_claimed_fail').catch(() => {}), agent.closed]);
      await agent.hangUp();
    });
  for (const text of hostileTexts(15))
    await at('WebSocket of dazflow agents', text, async () => {
      const path = `/ws/agent/${encoded(text)}/${encoded(text)}`;
      const head = `GET ${path} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==`;
      const { status } = await bytes(t, node, head);
      assert.ok(status < 500, String(status));
    });
  await well();
});

const rpcCalls = (): readonly string[] => [
  ...HOSTILE_JSON,
  ...hostileTexts(15).map((method) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: {} })),
  ...hostileTexts(15).map((id) =>
    JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tasks.get', params: { task_id: id } }),
  ),
  JSON.stringify(Array(51).fill({ jsonrpc: '2.0', id: 1, method: 'system.health' })),
  JSON.stringify({ jsonrpc: '2.0', id: {}, method: 'tasks.get' }),
  JSON.stringify({ jsonrpc: '1.0', id: 1, method: 'tasks.get' }),
];

test('catalogue: JSON-RPC', async (t) => {
  const { node, well } = await door(t);
  for (const body of rpcCalls())
    await at('JSON-RPC', body, async () => {
      const answer = await node.ask('/tasks', {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json' },
      });
      judge(answer, [200, 400, 413]);
      if (answer.status === 200) assert.match(JSON.stringify(answer.body), /"error"/);
    });
  await well();
});

test('catalogue: A2A', async (t) => {
  const { node, well } = await door(t);
  const calls = [
    ...HOSTILE_JSON,
    ...hostileTexts(15).map((method) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: {} })),
    ...hostileTexts(15).map((id) => JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'GetTask', params: { id } })),
    ...hostileTexts(15).map((handler) =>
      JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'SendMessage',
        params: { message: { messageId: 'm', role: 'ROLE_USER', parts: [], metadata: { handler, queue: handler } } },
      }),
    ),
  ];
  for (const body of calls)
    await at('A2A', body, async () => {
      const answer = await node.ask('/a2a', { method: 'POST', body, headers: { 'content-type': 'application/json' } });
      judge(answer, [200, 400, 413]);
      if (answer.status === 200) assert.match(JSON.stringify(answer.body), /"error"/, body);
    });
  await well();
});

test('catalogue: MCP', async (t) => {
  const { node, well } = await door(t);
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  const tool = (name: string, args: object): string =>
    JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } });
  const calls = [
    ...HOSTILE_JSON,
    ...hostileTexts(15).map((name) => tool(name, {})),
    ...hostileTexts(15).map((id) => tool('show_task', { id })),
    ...hostileTexts(15).map((queue) => tool('push_task', { queue: `${queue}\u0000` })),
    JSON.stringify(Array(51).fill({ jsonrpc: '2.0', id: 1, method: 'tools/list' })),
  ];
  for (const body of calls)
    await at('MCP', body, async () => {
      const answer = await node.ask('/mcp', { method: 'POST', body, headers });
      judge(answer, [200, 202, 400, 406, 413]);
    });
  assert.deepEqual((await node.ask('/api/v1/tasks')).body.tasks, [], 'nothing of it was pushed');
  await well();
});

test('catalogue: loopd', async (t) => {
  const { node, well } = await door(t);
  const { secret } = await node.call('createWorker', '/api/v1/workers', { body: { name: 'box' } });
  const registered = await node.call('registerWorker', '/workers/register', {
    token: secret,
    body: { hostname: 'h', capabilities: ['echo'] },
  });
  const own = { 'x-session-token': registered.session_token as string, 'content-type': 'application/json' };
  const { id } = await node.engine.push({ queue: 'q', handler: 'other' });
  for (const body of HOSTILE_JSON.filter((text) => text !== ''))
    for (const path of [`/steps/${id}/complete`, `/steps/${id}/events`])
      await at('loopd', body, async () =>
        judge(await node.ask(path, { method: 'POST', token: null, headers: own, body }), [400, 413]),
      );
  for (const text of hostileTexts(25)) {
    const body = { lease_token: text, status: 'completed' };
    await at('loopd', text, async () =>
      judge(
        await node.ask(`/steps/${encoded(text).replaceAll('.', '%2e')}/complete`, { token: null, headers: own, body }),
        [400, 401, 404, 409],
      ),
    );
    const headers = { 'x-session-token': text.replaceAll(/[^\x21-\x7e]/g, '') || 'x' };
    await at('loopd', text, async () =>
      judge(await node.ask('/workers/x/claim', { token: null, headers, body: {} }), [400, 401, 403]),
    );
  }
  await well();
});

test('catalogue: answers of a false node', async (t) => {
  let answer = '';
  let status = 200;
  const server = createServer((_, reply) => {
    reply.writeHead(status, { 'content-type': 'application/json' }).end(answer);
  }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await new Promise((resolve) => server.once('listening', resolve));
  const client = new Client({
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    token: 'x'.repeat(20),
  });
  t.after(() => client.close());
  const problems = hostileTexts(30).map((text) => JSON.stringify({ error: { code: text, message: text, hint: text } }));
  for (const code of [200, 400])
    for (const text of [...HOSTILE_JSON, ...problems])
      await at('answers of a false node', text, async () => {
        [answer, status] = [text, code];
        const outcome = await client
          .call('listQueues', { timeoutMs: 2000, patienceMs: 0 })
          .catch((error: unknown) => error);
        if (outcome instanceof Error) assert.ok(isEngineError(outcome), String(outcome));
      });
});

test('catalogue: pages', async (t) => {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, 'index.html'), '<!doctype html>');
  const { node, well } = await door(t, { pages: () => folder });
  for (const text of hostileTexts(60)) {
    for (const path of [`/ui/${encoded(text)}`, `/ui/..%2f${encoded(text)}`])
      await at('pages', text, async () => {
        const { status, body } = await bytes(t, node, `GET ${path} HTTP/1.1\r\nHost: localhost`);
        assert.ok([200, 302, 400, 404].includes(status), `${status} ${path}`);
        assert.doesNotMatch(body, /root:.*:0:0|\[fonts\]/);
      });
  }
  await well();
});
