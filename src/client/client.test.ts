import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { CuttingProxy } from '../../test/support/cutting-proxy.ts';
import { temporaryFolder } from '../../test/support/leasehold.ts';
import { nodeScene } from '../../test/support/node-scene.ts';
import { type EngineError, fault, isEngineError } from '../core/errors.ts';
import { Client, type ClientOptions } from './client.ts';
import { originOf } from './endpoints.ts';
import { REAL_CLOCK } from './retry-backoff.ts';

const TASK = { queue: 'q', handler: 'h', input: { a: 1 } };

async function errorOf(call: Promise<unknown>): Promise<EngineError> {
  const thrown: unknown = await call.then(
    () => undefined,
    (error: unknown) => error,
  );
  assert.ok(isEngineError(thrown), String(thrown));
  return thrown;
}

async function scene(t: TestContext, options: Partial<ClientOptions> = {}) {
  const node = await nodeScene(t, { durability: 'normal' });
  const proxy = await CuttingProxy.start(t, node.service.address);
  const client = new Client({ url: proxy.url, token: node.admin, ...options });
  t.after(() => client.close());
  return { node, proxy, client };
}

/** Somebody else's server. */
async function stranger(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('a call fills its path, asks for several of the same, and answers what the route says', async (t) => {
  const { client, proxy } = await scene(t);
  const pushed = await client.call('pushTasks', { body: TASK });
  assert.ok('id' in pushed);
  const query = { queue: ['q', 'r'], state: ['ready' as const], limit: 3 };
  assert.equal((await client.call('listTasks', { query })).tasks.length, 1);
  assert.equal(proxy.seen.at(-1), 'GET /api/v1/tasks?queue=q&queue=r&state=ready&limit=3');
  assert.equal((await errorOf(client.call('getQueue', { params: { queue: 'a/b?c' } }))).code, 'NOT_FOUND');
  assert.equal(proxy.seen.at(-1), 'GET /api/v1/queues/a%2Fb%3Fc');
  const before = proxy.seen.length;
  for (const id of ['', '.', '..'])
    assert.equal((await errorOf(client.call('getTask', { params: { id } }))).code, 'INVALID_INPUT');
  assert.equal(proxy.seen.length, before, 'what would name another page is not sent');
  assert.match(await client.call('metrics'), /leasehold_/);
});

test('what a node refuses is thrown as its error, with hint and details', async (t) => {
  const { client, node } = await scene(t);
  await client.call('pushTasks', { body: { ...TASK, unique: 'k' } });
  const error = await errorOf(client.call('pushTasks', { body: { ...TASK, input: 2, unique: 'k' } }));
  assert.deepEqual([error.code, error.status, error.details?.key], ['UNIQUE_CONFLICT', 422, 'k']);
  const { token } = await node.token('read');
  const reader = new Client({ url: node.service.address, token });
  assert.equal((await errorOf(reader.call('pushTasks', { body: TASK }))).code, 'FORBIDDEN');
  const nobody = new Client({ url: node.service.address, token: 'wrong' });
  assert.equal((await errorOf(nobody.call('listQueues'))).code, 'UNAUTHENTICATED');
});

test('a push whose answer is lost is pushed again under the same key, and is there once', async (t) => {
  const { client, proxy } = await scene(t);
  let losses = 2;
  proxy.fate = ({ method }) => (method === 'POST' && losses-- > 0 ? 'lost' : 'through');
  const pushed = await client.call('pushTasks', { body: TASK });
  assert.ok('id' in pushed);
  assert.equal(pushed.fresh, true, 'it is this call that has made it');
  assert.deepEqual(proxy.seen, Array<string>(3).fill('POST /api/v1/tasks'));
  const { tasks } = await client.call('listTasks');
  assert.deepEqual(
    tasks.map(({ id }) => id),
    [pushed.id],
  );
});

test('an answer that breaks off in the middle is asked for again', async (t) => {
  const { client, proxy } = await scene(t);
  await client.call('pushTasks', { body: TASK });
  let cuts = 2;
  proxy.fate = ({ method }) => (method === 'GET' && cuts-- > 0 ? { cutAfter: 40 } : 'through');
  assert.equal((await client.call('listTasks')).tasks.length, 1);
  assert.equal(proxy.seen.filter((line) => line.startsWith('GET')).length, 3);
});

test('what changes something and cannot be repeated is sent once, and nobody claims to know what became of it', async (t) => {
  const { client, proxy } = await scene(t);
  const pushed = await client.call('pushTasks', { body: TASK });
  assert.ok('id' in pushed);
  proxy.fate = () => 'lost';
  const error = await errorOf(client.call('cancelTask', { params: { id: pushed.id }, body: {} }));
  assert.equal(error.code, 'NODE_UNREACHABLE');
  assert.match(error.message, /the connection broke/);
  assert.equal(proxy.seen.filter((line) => line.endsWith('/cancel')).length, 1);
});

test('whatever never reached a node is sent again, until there is one', async (t) => {
  const node = await nodeScene(t, { durability: 'normal' });
  const { port } = new URL(node.service.address);
  const url = `http://127.0.0.1:${port}`;
  await node.service.close();
  let pauses = 0;
  let back: Awaited<ReturnType<typeof nodeScene>> | undefined;
  const sleep = async (): Promise<void> => {
    if (++pauses === 3) back = await nodeScene(t, { port: Number(port), adminToken: () => node.admin });
  };
  const client = new Client({ url, token: node.admin, clock: { ...REAL_CLOCK, sleep } });
  assert.equal((await client.call('pauseQueue', { params: { queue: 'q' } })).paused, true);
  assert.equal(pauses, 3);
  assert.ok(back);
});

test('who has waited long enough hears that nobody is there', async () => {
  let now = 0;
  const sleep = async (ms: number): Promise<void> => void (now += ms);
  const clock = { now: () => now, random: () => 1, sleep };
  const gone = new Client({
    url: 'http://127.0.0.1:9',
    clock,
    fetch: () => Promise.reject(new TypeError('no')),
  });
  assert.equal((await errorOf(gone.call('listQueues'))).code, 'NODE_UNREACHABLE');
  assert.equal(now, 15_000);
  assert.equal((await errorOf(gone.call('health', { patienceMs: 0 }))).code, 'NODE_UNREACHABLE');
  assert.equal(now, 15_000);
});

test('a request that takes too long ends with TIMEOUT, and only what may be repeated is asked for again', async (t) => {
  const asked: string[] = [];
  const url = await stranger(t, ({ method }) => void asked.push(String(method)));
  const client = new Client({ url, timeoutMs: 400, patienceMs: 1, clock: { ...REAL_CLOCK, random: () => 0 } });
  assert.equal((await errorOf(client.call('pauseQueue', { params: { queue: 'q' } }))).code, 'TIMEOUT');
  assert.deepEqual(asked, ['POST']);
  assert.equal((await errorOf(client.call('listQueues'))).code, 'TIMEOUT');
  assert.ok(asked.filter((method) => method === 'GET').length > 1);
});

test('a node that has no such page is too old, and what is no node is none', async (t) => {
  const old = await stranger(t, (_, answer) => {
    const error = fault('NOT_FOUND', { kind: 'page', id: 'POST /api/v1/graphs' });
    answer.writeHead(404, { 'content-type': 'application/json' }).end(JSON.stringify({ error }));
  });
  const error = await errorOf(new Client({ url: old }).call('pushGraph', { body: { tasks: [] } }));
  assert.equal(error.code, 'NODE_TOO_OLD');
  assert.match(error.message, /POST \/api\/v1\/graphs/);
  const shop = await stranger(t, (_, answer) => void answer.end('<h1>Welcome</h1>'));
  assert.equal((await errorOf(new Client({ url: shop }).call('listQueues'))).code, 'NODE_UNREACHABLE');
  const elsewhere = await stranger(t, (_, answer) => void answer.writeHead(302, { location: old }).end());
  const client = new Client({ url: elsewhere, token: 'secret', patienceMs: 0 });
  assert.equal((await errorOf(client.call('listQueues'))).code, 'NODE_UNREACHABLE', 'a token follows no redirect');
});

test('who stops waiting hears its own reason, and after the end nobody is answered', async (t) => {
  const url = await stranger(t, () => {});
  const client = new Client({ url });
  const stop = new AbortController();
  const waiting = assert.rejects(client.call('listQueues', { signal: stop.signal }), /enough/);
  const other = assert.rejects(client.call('listQueues'), { code: 'STORE_CLOSED' });
  const stream = assert.rejects(Array.fromAsync(client.stream('streamEvents', {})), { code: 'STORE_CLOSED' });
  stop.abort(new Error('enough'));
  await waiting;
  client.close();
  await Promise.all([other, stream]);
  assert.equal((await errorOf(client.call('health'))).code, 'STORE_CLOSED');
});

test('an address is that of a node, and a token in it is shown to nobody', () => {
  assert.equal(originOf('http://127.0.0.1:7420/ui/'), 'http://127.0.0.1:7420');
  assert.equal(originOf('https://tasks.example.org'), 'https://tasks.example.org');
  for (const url of ['', 'tasks.example.org', 'ftp://host', 'http://user:secret@host', 'http://user:secret@ho st']) {
    assert.throws(
      () => originOf(url),
      (error) => isEngineError(error, 'INVALID_INPUT') && !error.message.includes('secret'),
    );
  }
});

test('a stream that is cut again and again brings every event once, in order', async (t) => {
  const { client, proxy, node } = await scene(t);
  const away: (string | undefined)[] = [];
  const follower = new Client({
    url: proxy.url,
    token: node.admin,
    clock: { ...REAL_CLOCK, sleep: () => Promise.resolve() },
    onAway: (error) => void away.push(error?.message),
  });
  t.after(() => follower.close());
  let cuts = 0;
  proxy.fate = ({ url }) =>
    url?.startsWith('/api/v1/events') && cuts++ < 20 ? { cutAfter: 100 + 137 * cuts } : 'through';
  await client.call('pushTasks', { body: { tasks: Array.from({ length: 30 }, () => TASK) } });
  const seen: number[] = [];
  for await (const { data, id } of follower.stream('streamEvents', { last: '0' })) {
    const { seq } = JSON.parse(data) as { readonly seq: number };
    assert.equal(id, String(seq));
    if (seen.push(seq) === 15) await client.call('pushTasks', { body: TASK });
    if (seen.length === 31) break;
  }
  assert.deepEqual(
    seen,
    Array.from({ length: 31 }, (_, i) => i + 1),
  );
  assert.ok(cuts > 5, `it was cut ${cuts} times`);
  assert.ok(
    away.filter((word) => word === undefined).length > 2,
    'who follows is told that the node was away, and is back',
  );
});

test('a log is followed to the end of its task over cuts, and a log that ends is not asked for again', async (t) => {
  const { client, proxy, node } = await scene(t, { clock: { ...REAL_CLOCK, sleep: () => Promise.resolve() } });
  const { engine } = node;
  const worker = await engine.workers.register({ name: 'w', incarnation: 'i', slots: 1 });
  const { id } = await engine.push({ queue: 'q', handler: 'h' });
  const [lease] = await engine.claim({ worker, max: 1 });
  assert.ok(lease);
  const say = (from: number, to: number): Promise<void> =>
    engine.logs.append(
      lease,
      Array.from({ length: to - from }, (_, i) => ({ seq: from + i, at: 1, stream: 'log', text: `line ${from + i}` })),
    );
  await say(1, 21);
  let cuts = 0;
  proxy.fate = ({ url }) => (url?.includes('/logs') && cuts++ < 5 ? { cutAfter: 300 } : 'through');
  const lines: string[] = [];
  for await (const { data } of client.stream('readLog', { params: { id } })) {
    lines.push((JSON.parse(data) as { readonly text: string }).text);
    if (lines.length === 20) {
      await say(21, 31);
      await engine.complete(lease, 'done');
    }
  }
  assert.deepEqual(
    lines,
    Array.from({ length: 30 }, (_, i) => `line ${i + 1}`),
  );
  assert.equal(cuts, proxy.seen.filter((line) => line.includes('/logs')).length);
});

test('a stream that is refused is not asked for again, and one that nobody brings back ends with why', async (t) => {
  const { proxy } = await scene(t);
  const nobody = new Client({ url: proxy.url, token: 'wrong' });
  await assert.rejects(Array.fromAsync(nobody.stream('streamEvents', {})), { code: 'UNAUTHENTICATED' });
  assert.equal(proxy.seen.length, 1);
  let now = 0;
  const clock = { now: () => now, random: () => 1, sleep: async (ms: number) => void (now += ms) };
  const gone = new Client({ url: proxy.url, clock, fetch: () => Promise.reject(new TypeError('no')) });
  await assert.rejects(Array.fromAsync(gone.stream('streamEvents', {})), { code: 'NODE_UNREACHABLE' });
  assert.equal(now, 600_000);
});

test('of several nodes the next one is asked when one is away, at once and by everybody, and what was asked is done once', async (t) => {
  const store = `sqlite:${join(temporaryFolder(t), 'two.db')}`;
  const nodes = [await nodeScene(t, { store }), await nodeScene(t, { store })] as const;
  const proxy = await CuttingProxy.start(t, nodes[0].service.address);
  const second = nodes[1].service.address;
  const { token } = await nodes[0].token('operator');
  const slept: number[] = [];
  const sleep = (ms: number): Promise<void> => Promise.resolve(void slept.push(ms));
  const client = new Client({ url: `${proxy.url}, ${second}`, token, clock: { ...REAL_CLOCK, sleep } });
  t.after(() => client.close());
  await client.call('pushTasks', { body: TASK });
  assert.equal(client.origin, proxy.url);
  // The first has done it, and its answer is lost.
  proxy.fate = () => 'lost';
  const pushed = await Promise.all([1, 2, 3].map(() => client.call('pushTasks', { body: TASK })));
  assert.equal(new Set(pushed.map((one) => 'id' in one && one.id)).size, 3);
  assert.equal((await client.call('listTasks')).tasks.length, 4);
  assert.deepEqual([client.origin, slept], [second, []]);
  // It stays there, though the first is well again, and comes back when the second is away.
  proxy.fate = () => 'through';
  const before = proxy.seen.length;
  await client.call('listTasks');
  assert.equal(proxy.seen.length, before);
  await nodes[1].service.close();
  assert.equal((await client.call('listTasks')).tasks.length, 4);
  assert.deepEqual([client.origin, slept], [proxy.url, []]);
  proxy.fate = () => 'lost';
  assert.equal((await errorOf(client.call('listTasks', { patienceMs: 1 }))).code, 'NODE_UNREACHABLE');
  assert.equal(slept.length, 1, 'when none of them answers it waits, as for one');
});

test('a stream goes on through the next node, without a gap or a repeat', async (t) => {
  const store = `sqlite:${join(temporaryFolder(t), 'two.db')}`;
  const nodes = [await nodeScene(t, { store }), await nodeScene(t, { store })] as const;
  const { token } = await nodes[0].token('operator');
  const client = new Client({ url: nodes.map(({ service }) => service.address).join(), token });
  t.after(() => client.close());
  const push = async (): Promise<string> => {
    const one = await client.call('pushTasks', { body: TASK });
    assert.ok('id' in one);
    return one.id;
  };
  const pushed = [await push()];
  const told: string[] = [];
  for await (const { data } of client.stream('streamEvents', { query: { after: 0 } })) {
    const { kind, task } = JSON.parse(data) as { kind: string; task?: string };
    if (kind !== 'created' || task === undefined) continue;
    told.push(task);
    if (told.length === 3) break;
    if (told.length === 1) await nodes[0].service.close();
    pushed.push(await push());
  }
  assert.deepEqual(told, pushed);
  assert.equal(client.origin, nodes[1].service.address);
});

test('an answer that does not end is not read to its end, be it a good one or a refusal', {
  timeout: 120_000,
}, async (t) => {
  for (const [status, most] of [
    [200, 300],
    [400, 80],
  ] as const) {
    let sent = 0;
    const url = await stranger(t, (_, answer) => {
      answer.writeHead(status, { 'content-type': 'application/json' });
      const block = Buffer.alloc(1024 * 1024, ' ');
      const write = (): void => {
        while (!answer.destroyed && answer.write(block)) sent++;
        if (!answer.destroyed) answer.once('drain', () => write());
        sent++;
      };
      write();
    });
    const client = new Client({ url, patienceMs: 0 });
    t.after(() => client.close());
    const error = await errorOf(client.call('getQueue', { params: { queue: 'q' } }));
    if (status === 200) assert.match(error.message, /its answer is longer than 256 MiB/);
    assert.ok(sent < most, `${sent} MiB were sent`);
  }
});
