/** The doors of other protocols, of strangers and of browsers, with what is nearly right; see fuzz.test.ts. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { Client } from '../../src/client/client.ts';
import { isEngineError } from '../../src/core/errors.ts';
import { METHODS } from '../../src/protocol/rpc/methods.ts';
import type { Rng } from '../sim/rng.ts';
import { temporaryFolder } from '../support/leasehold.ts';
import { RawWorker } from '../support/raw-worker.ts';
import { asker, fuzz, fuzzed, judge } from './fuzzing.ts';
import { mutate, object, value } from './mutate.ts';
import { HOSTILE } from './strings.ts';

const JSON_TYPE = { 'content-type': 'application/json' };
const NAMES =
  'id task_id task_ids tasks name method params jsonrpc message parts text data metadata handler queue arguments dry_run input limit cursor status contextId messageId role'.split(
    ' ',
  );

/** A good message with some of its fields changed, or with some of its bytes. */
function nearly(rng: Rng, good: object): string {
  if (rng.chance(0.4)) return mutate(rng, JSON.stringify(good));
  const names = [...Object.keys(good), ...NAMES];
  return JSON.stringify({ ...good, ...object(rng, rng.chance(0.5) ? Object.keys(good) : names) });
}

test('fuzz: what callers without a token may call', async (t) => {
  const { node, well } = await fuzzed(t);
  const ask = asker(t, node);
  const { url } = await node.call('createLogin', '/api/v1/logins');
  const { code } = await node.call('createWorker', '/api/v1/workers', { body: { name: 'box', code: true } });
  const asks = [
    { path: '/ui/login', good: { code: url.split('#code=')[1] } },
    { path: '/ui/login', good: { token: node.admin } },
    { path: '/api/v1/workers/enrol', good: { code } },
  ];
  await fuzz(
    t,
    async (rng) => {
      const { path, good } = rng.pick(asks);
      const [field] = Object.keys(good) as [keyof typeof good];
      const wrong = { [field]: `${String(good[field]).slice(0, -2)}_` };
      const headers = { ...JSON_TYPE, authorization: '' };
      const method = rng.pick(['POST', 'POST', 'POST', 'GET', 'PATCH', 'DELETE']);
      const body = nearly(rng, wrong);
      const { status, text } = await ask({ method, path, headers, body });
      // Asked without a body, as once in some ten thousand tries, that is the page with the form, which everybody may see.
      if (method === 'GET' && path === '/ui/login' && body === '') return;
      assert.ok(status >= 400 && status < 500, `${status} ${text}`);
      judge({ status, text });
    },
    4,
  );
  await well();
});

test('fuzz: frames of a dazflow agent', async (t) => {
  const { node, well } = await fuzzed(t);
  const { secret } = await node.call('createWorker', '/api/v1/workers', { body: { name: 'agent', handlers: null } });
  const { id } = await node.engine.push({ queue: 'q', handler: 'echo' });
  const good: readonly object[] = [
    { type: 'heartbeat' },
    { type: 'task_claim', task_id: id },
    { type: 'task_progress', task_id: id, logs: ['a', { line: 'b', timestamp: 1 }] },
    { type: 'task_complete', task_id: id, result: { a: 1 } },
    { type: 'task_failed', task_id: id, error: 'x', error_details: {} },
    { type: 'credential_ack', name: 'x' },
    { type: 'version', version: '1' },
    { type: 'credentials_report', credentials: ['x'] },
  ];
  let agent: RawWorker | undefined;
  const connected = async (rng: Rng): Promise<RawWorker> => {
    while (agent === undefined || agent.socket.readyState !== agent.socket.OPEN) {
      const dialled = await RawWorker.dial(node.service.address);
      const first = { type: 'connect', name: 'agent', secret, version: '1', credentials: [] };
      dialled.say(rng.chance(0.3) ? nearly(rng, first) : first);
      const said = await dialled.hear(({ type }) => type?.startsWith('connect_')).catch(() => undefined);
      if (said?.type === 'connect_ok') agent = dialled;
      else await dialled.hangUp();
    }
    return agent;
  };
  await fuzz(t, async (rng) => {
    const own = await connected(rng);
    own.say(rng.chance(0.1) ? rng.pick(HOSTILE) : nearly(rng, rng.pick(good)));
    own.say({ type: 'task_claim', task_id: 'nothing' });
    await Promise.race([own.hear(({ type }) => type === 'task_claimed_fail').catch(() => {}), own.closed]);
    own.heard.length = 0;
  });
  await agent?.hangUp();
  await well();
});

test('fuzz: calls of JSON-RPC', async (t) => {
  const { node, id, well } = await fuzzed(t, { rpcAllowance: { burst: 1e9, perSecond: 1e9 } });
  const ask = asker(t, node);
  const methods = Object.keys(METHODS);
  await fuzz(
    t,
    async (rng) => {
      const one = { jsonrpc: '2.0', id: 1, method: rng.pick(methods), params: { task_id: id, ...object(rng, NAMES) } };
      const text = nearly(rng, one);
      const body = rng.chance(0.2) ? `[${text},${text}]` : text;
      judge(await ask({ method: 'POST', path: rng.pick(['/tasks', '/system', '/rpc']), headers: JSON_TYPE, body }));
    },
    4,
  );
  await well();
});

test('fuzz: messages of A2A', async (t) => {
  const { node, id, well } = await fuzzed(t);
  const ask = asker(t, node);
  const configuration = { returnImmediately: true };
  await fuzz(
    t,
    async (rng) => {
      const part = rng.pick([{ text: 'x' }, { data: { a: 1 } }, object(rng, NAMES)]);
      const message = {
        messageId: `m${rng.int(0, 1e9)}`,
        role: 'ROLE_USER',
        parts: [part],
        metadata: { handler: 'echo' },
      };
      // Only the message is changed: without its configuration a good one would wait for its task.
      const sent = rng.chance(0.5) ? { ...message, ...object(rng, Object.keys(message)) } : message;
      const calls = [
        { method: 'SendMessage', params: { message: sent, configuration } },
        { method: 'GetTask', params: { id: rng.chance(0.5) ? id : value(rng, NAMES) } },
        { method: 'ListTasks', params: object(rng, ['pageSize', 'pageToken', 'status', 'contextId']) },
        { method: 'CancelTask', params: { id: mutate(rng, id) } },
        { method: rng.pick(HOSTILE), params: object(rng, NAMES) },
      ];
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, ...rng.pick(calls) });
      const headers = rng.chance(0.2)
        ? { ...JSON_TYPE, 'a2a-version': mutate(rng, '1.0').replaceAll(/[^\x21-\x7e]/g, '') }
        : JSON_TYPE;
      judge(await ask({ method: 'POST', path: '/a2a', headers, body }));
    },
    4,
  );
  await well();
});

test('fuzz: messages of MCP', async (t) => {
  const { node, id, well } = await fuzzed(t);
  const ask = asker(t, node);
  const tools = [
    'show_task',
    'explain_task',
    'tail_log',
    'list_tasks',
    'push_task',
    'cancel_task',
    'retry_task',
    'pause_queue',
    'resume_queue',
  ];
  const headers = { ...JSON_TYPE, accept: 'application/json, text/event-stream' };
  await fuzz(
    t,
    async (rng) => {
      const args = {
        id,
        queue: 'q',
        ...object(rng, ['id', 'queue', 'input', 'lines', 'state', 'dry_run', 'limit', 'handler']),
      };
      const good = rng.pick([
        { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: rng.pick(tools), arguments: args } },
        { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} },
        { jsonrpc: '2.0', id: 1, method: 'initialize', params: object(rng, NAMES) },
      ]);
      const { status, text } = await ask({ method: 'POST', path: '/mcp', headers, body: nearly(rng, good) });
      assert.ok(status < 500, `${status} ${text.slice(0, 300)}`);
    },
    4,
  );
  await well();
});

test('fuzz: paths of pages, and cookies', async (t) => {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, 'index.html'), '<!doctype html>');
  writeFileSync(join(folder, '..', 'outside.txt'), 'what nobody may read');
  const { node, well } = await fuzzed(t, { pages: () => folder });
  const ask = asker(t, node);
  await fuzz(
    t,
    async (rng) => {
      const name = rng.pick(['index.html', '../outside.txt', '..%2foutside.txt', 'assets/a.js', '']);
      const path = `/ui/${mutate(rng, name)}`.replaceAll(/[^\x21-\x7e]/g, '');
      const cookie = mutate(rng, 'leasehold_session=abc.def').replaceAll(/[^\x20-\x7e]/g, '');
      const encoding = mutate(rng, 'gzip, br').replaceAll(/[^\x20-\x7e]/g, '');
      const { status, text } = await ask({ path, headers: { authorization: '', cookie, 'accept-encoding': encoding } });
      assert.ok(status < 500, `${status} ${path}`);
      assert.doesNotMatch(text, /nobody may read/);
    },
    4,
  );
  await well();
});

test('fuzz: what a false node answers to a client', async (t) => {
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
  const good = { error: { code: 'NOT_FOUND', message: 'x', hint: 'y', details: { retryAfterMs: 5 } } };
  await fuzz(t, async (rng) => {
    status = rng.pick([200, 201, 204, 400, 401, 404, 409, 413, 418]);
    answer = status === 204 ? '' : nearly(rng, rng.chance(0.5) ? good : { tasks: [], cursor: 'x' });
    const called = rng.pick(['listQueues', 'listTasks', 'listWorkers'] as const);
    const outcome = await client.call(called, { timeoutMs: 2000, patienceMs: 0 }).catch((error: unknown) => error);
    if (outcome instanceof Error) assert.ok(isEngineError(outcome), String(outcome.stack));
  });
});
