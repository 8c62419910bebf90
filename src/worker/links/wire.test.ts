import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { WebSocket, WebSocketServer } from 'ws';
import { hubScene } from '../../../test/support/gateway-scene.ts';
import { type NodeScene, nodeScene } from '../../../test/support/node-scene.ts';
import { TcpProxy } from '../../../test/support/tcp-proxy.ts';
import { makeWorker } from '../../app/worker.ts';
import { realWorld } from '../../app/world.ts';
import { isEngineError } from '../../core/errors.ts';
import type { World } from '../../core/world.ts';
import { SILENT } from '../../engine/log.ts';
import { newSecret } from '../../operate/secrets.ts';
import type { Assignment, Hello, Session, Turned, WorkerState } from '../../protocol/link.ts';
import { IDLE_TICK_MS } from '../../protocol/peer-liveness.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import { VirtualWorld } from '../../testing.ts';
import { task } from '../define/task.ts';
import { HttpLink } from './http-link.ts';
import { WsLink } from './ws-link.ts';

const FOLDER = tempFolder('wire');
let stores = 0;
const aStore = (): string => `sqlite:${join(FOLDER, `${++stores}.db`)}`;

const HELLO: Hello = { name: 'a', incarnation: 'one', slots: 8, tags: [], handlers: ['echo'], queues: undefined };
const NEVER = new AbortController().signal;

interface Opening {
  readonly url: string;
  readonly secret: string;
  readonly world?: World;
  readonly hello?: Partial<Hello>;
}

async function openSession(t: TestContext, { url, secret, world = realWorld(), hello = {} }: Opening) {
  const session = await new WsLink({ url: url, secret, world, log: SILENT }).open({ ...HELLO, ...hello });
  t.after(() => session.close());
  return session;
}

const permissions = { handlers: ['other'], queues: ['children'] };

async function secretOf(node: NodeScene, name = 'a'): Promise<string> {
  return (await node.call('createWorker', '/api/v1/workers', { body: { name, permissions } })).secret as string;
}

const push = ({ engine }: { readonly engine: NodeScene['engine'] }, input: unknown = null) =>
  engine.push({ queue: 'work', handler: 'echo', input });

const claim = (session: Session, max = 1, waitMs = 0): Promise<readonly Assignment[]> =>
  session.claim({ max, waitMs, signal: NEVER });

const ON = { go: 'on' } as const;

const remember = (session: Session, lease: Assignment, key: string, value: unknown): Promise<Turned> =>
  session.turn(lease, { entries: [{ key, kind: 'value', value }], then: ON });

function spawn(session: Session, lease: Assignment, wish: object = {}): Promise<Turned> {
  const child = { queue: 'children', handler: 'other', ...wish };
  return session.turn(lease, { entries: [{ key: 'child', kind: 'child', child }], then: ON });
}

// Coming back

test('after a restart of its node a worker is back with its leases, and what it asked meanwhile is done once', async (t) => {
  const store = aStore();
  const first = await nodeScene(t, { store });
  const { port } = new URL(first.service.address);
  const secret = await secretOf(first);
  const session = await openSession(t, { url: first.service.address, secret });
  for (let i = 0; i < 4; i++) await push(first, i);
  const [a, b, c, d] = (await claim(session, 4)) as [Assignment, Assignment, Assignment, Assignment];
  const waiting = claim(session, 1, 60_000);
  await session.cancels();
  await first.service.close();
  // The node is down now.
  const asked = Promise.all([
    session.complete(a, { of: 'a' }),
    session.log(b, [{ seq: 1, at: 5, stream: 'stdout', text: 'said while nobody was there' }]),
    remember(session, b, 'step', 1),
    spawn(session, b),
    session.fail(c, new Error('of c'), { giveUp: true }),
    session.renew([b, d]),
  ]);
  const second = await nodeScene(t, { store, port: Number(port) });
  const answers = await asked;
  assert.deepEqual(answers[5], ['held', 'held']);
  await session.complete(b, { of: 'b' });
  await session.release(d);
  // The claim that waited all the while has it again.
  assert.equal((await waiting)[0]?.task, d.task);
  const records = await Promise.all([a, b, c, d].map(({ task: number }) => second.engine.get(number)));
  assert.deepEqual(
    records.map((one) => [one?.state, one?.attempt]),
    [
      ['completed', 1],
      ['completed', 1],
      ['failed', 1],
      ['running', 2],
    ],
  );
  assert.deepEqual(
    (await second.engine.logs.read(b.task)).map(({ text }) => text),
    ['said while nobody was there'],
  );
  assert.equal((await second.engine.list({ queue: 'children', limit: 10 })).length, 1);
  assert.deepEqual(
    (await second.engine.workers.list()).map(({ name, incarnation }) => [name, incarnation]),
    [['a', 'one']],
  );
  const completed = (await changesOf(second, 'work')).filter((change) => change === 'completed');
  assert.equal(completed.length, 2);
});

for (const [way, SomeLink] of [
  ['a WebSocket', WsLink],
  ['HTTP', HttpLink],
] as const) {
  test(`over ${way}: a worker that comes back through another node of the cluster keeps its leases, and what it asked meanwhile is done once`, async (t) => {
    const store = aStore();
    const [first, second] = [await nodeScene(t, { store }), await nodeScene(t, { store })];
    const secret = await secretOf(first);
    const urls = [first.service.address, second.service.address] as const;
    const session = await new SomeLink({
      url: urls[0],
      others: [urls[1]],
      secret,
      world: realWorld(),
      log: SILENT,
    }).open(HELLO);
    t.after(() => session.close());
    for (let i = 0; i < 3; i++) await push(first, i);
    const [a, b, c] = (await claim(session, 3)) as [Assignment, Assignment, Assignment];
    const closing = first.service.close();
    const asked = Promise.all([session.complete(a, { of: 'a' }), session.renew([b, c])]);
    await closing;
    const [, renewed] = await asked;
    assert.deepEqual(renewed, ['held', 'held'], 'the second node takes the proofs of the first');
    await session.complete(b, { of: 'b' });
    await session.release(c);
    const records = await Promise.all([a, b, c].map(({ task: number }) => second.engine.get(number)));
    assert.deepEqual(
      records.map((one) => [one?.state, one?.attempt, one?.tries]),
      [
        ['completed', 1, 1],
        ['completed', 1, 1],
        ['ready', 1, 0],
      ],
    );
    const completed = (await changesOf(second, 'work')).filter((change) => change === 'completed');
    assert.equal(completed.length, 2);
    assert.equal((await second.engine.workers.list()).length, 1, 'it is the same worker there');
  });

  test(`over ${way}: a worker whose first address is away begins at the next one, and goes round when all have been tried`, async (t) => {
    const store = aStore();
    const gone = await nodeScene(t, { store });
    const { address, port } = { address: gone.service.address, port: Number(new URL(gone.service.address).port) };
    const there = await nodeScene(t, { store });
    const secret = await secretOf(there);
    await gone.service.close();
    const urls = [address, there.service.address] as const;
    const session = await new SomeLink({
      url: urls[0],
      others: [urls[1]],
      secret,
      world: realWorld(),
      log: SILENT,
    }).open(HELLO);
    t.after(() => session.close());
    await push(there);
    const [one] = (await claim(session)) as [Assignment];
    await there.service.close();
    const done = session.complete(one, null);
    const back = await nodeScene(t, { store, port });
    await done;
    assert.equal((await back.engine.get(one.task))?.state, 'completed');
  });
}

/** The events of a queue's tasks. */
async function changesOf({ engine }: NodeScene, queue: string): Promise<readonly string[]> {
  const changes: string[] = [];
  const until = new AbortController();
  const marker = await engine.push({ queue: 'marker', handler: 'none' });
  for await (const item of engine.events({ signal: until.signal })) {
    if (item.kind !== 'event') continue;
    if (item.event.task === marker.task) break;
    if (item.event.queue === queue) changes.push(item.event.change);
  }
  return changes;
}

test('a network that is cut again and again costs no lease and no try', async (t) => {
  const node = await nodeScene(t);
  const proxy = await TcpProxy.before(node.service.address);
  t.after(() => proxy.close());
  const session = await openSession(t, { url: proxy.address, secret: await secretOf(node) });
  const done = new Set<number>();
  for (let i = 0; i < 30; i++) await push(node, i);
  const cutting = setInterval(() => proxy.cut(), 25);
  t.after(() => clearInterval(cutting));
  while (done.size < 30) {
    for (const lease of await claim(session, 3, 1000)) {
      assert.equal(lease.tries, 1);
      assert.ok(!done.has(lease.task), 'a task that was completed came again');
      await session.complete(lease, lease.task);
      done.add(lease.task);
    }
  }
  assert.ok(proxy.count > 3, `${proxy.count} connections`);
  assert.equal((await node.engine.stats('work')).completed, 30);
});

test('a network that goes deaf is noticed in time to keep the leases', async (t) => {
  const leaseMs = 3000;
  const node = await nodeScene(t, { leaseMs });
  const proxy = await TcpProxy.before(node.service.address);
  t.after(() => proxy.close());
  const session = await openSession(t, { url: proxy.address, secret: await secretOf(node) });
  await push(node);
  const [lease] = (await claim(session)) as [Assignment];
  proxy.goDeaf();
  proxy.heal();
  const deafAt = performance.now();
  // The old connection is not closed: it is only silent.
  assert.deepEqual(await session.renew([lease]), ['held']);
  const took = performance.now() - deafAt;
  assert.ok(took < leaseMs / 2, `it took ${Math.round(took)} ms of a lease of ${leaseMs} ms`);
  assert.equal(proxy.count, 2);
  await session.complete(lease, 1);
});

test('a network that is still deaf when it comes back is not waited for longer than that', async (t) => {
  const leaseMs = 3000;
  const node = await nodeScene(t, { leaseMs });
  const proxy = await TcpProxy.before(node.service.address);
  t.after(() => proxy.close());
  const session = await openSession(t, { url: proxy.address, secret: await secretOf(node) });
  await push(node);
  const [lease] = (await claim(session)) as [Assignment];
  proxy.goDeaf();
  const deafAt = performance.now();
  const renewed = session.renew([lease]);
  // It has dialled, and no answer will ever come on that connection.
  while (proxy.count < 2) await new Promise((resolve) => void setTimeout(resolve, 5));
  proxy.heal();
  assert.deepEqual(await renewed, ['held']);
  const took = performance.now() - deafAt;
  assert.ok(took < leaseMs, `it took ${Math.round(took)} ms`);
  await session.complete(lease, 1);
});

test('while there are leases to save the pauses are short beside a lease', async (t) => {
  const { url, breakAll, refuseAll, dials } = await credulousGateway(t);
  const world = new VirtualWorld();
  await openSession(t, { url, secret: 'x', world });
  refuseAll();
  breakAll();
  const brokeAt = world.clock.monotonic();
  const dialledAt: number[] = [];
  while (dialledAt.length < 40) {
    // The timers of the next dial and of the rejection of pending requests.
    while (world.waits.length < 2) await new Promise((resolve) => void setImmediate(resolve));
    const before = dials();
    await world.advance(world.waits[0] as number);
    while (world.waits.length < 2) await new Promise((resolve) => void setImmediate(resolve));
    if (dials() > before) dialledAt.push(world.clock.monotonic() - brokeAt);
  }
  const pauses = dialledAt.map((at, i) => at - (dialledAt[i - 1] ?? 0));
  // With a lease of 9 s, tries are short until it has passed, then as long as without leases.
  const early = pauses.filter((_, i) => (dialledAt[i] as number) < 9000);
  assert.ok(Math.max(...early) <= 1500, `${early}`);
  assert.ok(Math.max(...pauses) > 1500, `${pauses}`);
});

test('a process that stood still for long does not take its connection for dead', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const scene = await hubScene(t);
  const proxy = await TcpProxy.before(scene.address);
  t.after(() => proxy.close());
  const session = await openSession(t, { url: proxy.address, secret: await scene.enrol('a') });
  // By the clock on the wall two minutes, in which no timer fired; it fires once when the process goes on.
  const now = performance.now.bind(performance);
  t.mock.method(performance, 'now', () => now() + 120_000);
  t.mock.timers.tick(4000);
  await session.cancels();
  t.mock.timers.tick(4000);
  await session.cancels();
  assert.equal(proxy.count, 1);
});

test('the pauses before it comes back are drawn up to a bound that grows', async (t) => {
  const world = new VirtualWorld();
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  let dials = 0;
  server.on('connection', (socket) => {
    dials++;
    socket.terminate();
  });
  t.after(() => server.close());
  const link = new WsLink({ url: url, secret: 'x', world, log: SILENT });
  const opening = link.open(HELLO);
  opening.catch(() => {});
  const pauses: number[] = [];
  for (let i = 1; i <= 9; i++) {
    while (dials < i || world.waits.length === 0) await new Promise((resolve) => void setImmediate(resolve));
    pauses.push(world.waits[0] as number);
    await world.advance(pauses.at(-1) as number);
  }
  for (const [i, most] of [100, 500, 1000, 2000, 5000, 10_000, 15_000, 15_000, 15_000].entries()) {
    const pause = pauses[i] as number;
    assert.ok(pause > 0 && pause <= most, `pause ${i + 1}: ${pause} of ${most} ms`);
  }
  assert.ok(new Set(pauses).size > 5, 'not all at once');
});

test('while its name is taken a worker waits for the place', async (t) => {
  const node = await nodeScene(t);
  const secret = await secretOf(node);
  const url = node.service.address;
  const first = await openSession(t, { url, secret });
  let isIn = false;
  const second = openSession(t, { url, secret, hello: { incarnation: 'two' } }).then((session) => {
    isIn = true;
    return session;
  });
  await first.cancels();
  assert.equal(isIn, false);
  await first.close();
  await (await second).cancels();
});

// The terms of the node

test('a worker beats as often as its node asks, stops what runs too long, and says by its proof that it has', async (t) => {
  const node = await nodeScene(t, { leaseMs: 30_000, heartbeatMs: 200, taskTimeoutMs: 500 });
  const aborts: unknown[] = [];
  const endless = (name: string, options: { readonly timeout?: string }) =>
    task(name, {
      ...options,
      run: (input, ctx) =>
        new Promise((_resolve, reject) => {
          ctx.signal.addEventListener('abort', () => {
            aborts.push(input);
            reject(ctx.signal.reason as Error);
          });
        }),
    });
  const tasks = [endless('echo', { timeout: '1h' }), endless('unbound', {})];
  const said: string[] = [];
  const send = Reflect.get(WebSocket.prototype, 'send') as (this: WebSocket, ...args: unknown[]) => void;
  t.mock.method(WebSocket.prototype, 'send', function (this: WebSocket, ...args: unknown[]) {
    said.push(String(args[0]));
    send.apply(this, args);
  });
  const world = realWorld();
  const link = new WsLink({ url: node.service.address, secret: await secretOf(node), world, log: SILENT });
  const worker = makeWorker({ tasks }, { link, world, log: SILENT, name: 'a' });
  await worker.start();
  t.after(() => worker.stop({ drain: false }));
  const seen = async (): Promise<number> => (await node.engine.workers.list())[0]?.seenAt ?? 0;
  const first = await seen();
  const bounded = await node.engine.push({ queue: 'work', handler: 'unbound', input: 'bounded', maxAttempts: 1 });
  assert.equal((await node.engine.finished(bounded.task)).state, 'failed');
  assert.match((await node.engine.get(bounded.task))?.result ?? '', /RUN_TIMEOUT/);
  while ((await seen()) === first) await new Promise((resolve) => void setTimeout(resolve, 20));
  // Its own bound is longer: it runs until it is killed.
  const killed = await node.engine.push({ queue: 'work', handler: 'echo', input: 'killed' });
  while ((await node.engine.get(killed.task))?.state !== 'running') {
    await new Promise((resolve) => void setTimeout(resolve, 5));
  }
  await node.engine.cancel(killed.task);
  const record = await node.engine.finished(killed.task);
  assert.deepEqual([record.state, record.attempt], ['cancelled', 1]);
  assert.deepEqual(aborts, ['bounded', 'killed']);
  const acknowledged = said.flatMap(
    (text) => JSON.parse(text) as { type: string; lease?: unknown }[] | { type: string },
  );
  const cancelled = acknowledged.filter(({ type }) => type === 'task_cancelled') as { lease?: { token?: string } }[];
  assert.equal(cancelled.length, 1);
  const { token, ...lease } = cancelled[0]?.lease ?? {};
  assert.deepEqual(lease, { task: killed.task, attempt: 1 });
  assert.ok((token?.length ?? 0) > 16, 'with the token that proves it');
  // Stopped before its node: otherwise its goodbye would have no answer.
  await worker.stop({ drain: false });
});

/** A worker, the beats that its node receives, and control over the worker's ticks. */
async function beating(t: TestContext) {
  t.mock.timers.enable({ apis: ['setInterval'] });
  // It checks for silence once a second.
  const hub = await credulousGateway(t, 24_000);
  const { heard } = hub;
  const session = await openSession(t, { url: hub.url, secret: 'x' });
  const beat = async (state: WorkerState): Promise<string> => {
    heard.length = 0;
    await session.beat(state);
    while (heard.length === 0) await new Promise((resolve) => void setImmediate(resolve));
    return heard.join();
  };
  return { ...hub, session, beat };
}

test('a beat that says nothing new wants no answer, until nothing was heard for two ticks', async (t) => {
  const { beat } = await beating(t);
  assert.equal(await beat('online'), 'heartbeat online');
  const said: string[] = [];
  for (let i = 0; i < 6; i++) {
    t.mock.timers.tick(IDLE_TICK_MS);
    said.push(await beat('online'));
  }
  assert.deepEqual(said, ['alive', 'heartbeat online', 'alive', 'heartbeat online', 'alive', 'heartbeat online']);
  assert.deepEqual([await beat('draining'), await beat('draining')], ['heartbeat draining', 'alive']);
});

test('a worker tells its state on each connection anew', async (t) => {
  const { beat, session, breakAll, dials } = await beating(t);
  assert.deepEqual([await beat('online'), await beat('online')], ['heartbeat online', 'alive']);
  breakAll();
  while (dials() < 2) await new Promise((resolve) => void setImmediate(resolve));
  await session.cancels();
  assert.deepEqual([await beat('online'), await beat('online')], ['heartbeat online', 'alive']);
});

test('who does not beat pings a node that is silent', async (t) => {
  const { heard } = await beating(t);
  for (let ticks = 1; ticks <= 3; ticks++) {
    t.mock.timers.tick(IDLE_TICK_MS);
    for (let i = 0; i < 20; i++) await new Promise((resolve) => void setImmediate(resolve));
    assert.equal(heard.join(), ticks < 3 ? '' : 'ping', `after ${ticks} ticks`);
  }
});

// Not being let in

test('who is not let in hears why, as if it were an error of its own', async (t) => {
  const node = await nodeScene(t);
  await secretOf(node);
  const url = node.service.address;
  const rejected = async (opening: Partial<Opening>): Promise<string> => {
    const error = await openSession(t, { url, secret: newSecret('worker'), ...opening }).then(
      () => assert.fail('it was let in'),
      (reason: unknown) => reason,
    );
    assert.ok(isEngineError(error), String(error));
    assert.ok(error.hint !== undefined && error.message.length > 10);
    return error.code;
  };
  assert.equal(await rejected({}), 'UNAUTHENTICATED');
  assert.equal(await rejected({ secret: node.admin }), 'FORBIDDEN');
  assert.equal(await rejected({ hello: { name: 'No Name' } }), 'UNAUTHENTICATED');
  assert.equal(await rejected({ hello: { slots: 0 } }), 'INVALID_INPUT');
  const secret = await secretOf(node, 'b');
  assert.equal(await rejected({ secret, hello: { name: 'b', tags: ['gpu'] } }), 'FORBIDDEN');
});

test('a worker that is removed while it works is shut out for good, and all that it asks is refused', async (t) => {
  const node = await nodeScene(t);
  const session = await openSession(t, { url: node.service.address, secret: await secretOf(node) });
  const waiting = claim(session, 1, 60_000);
  await session.cancels();
  await node.call('removeWorker', '/api/v1/workers/a');
  await assert.rejects(waiting, { code: 'UNAUTHENTICATED' });
  assert.ok(isEngineError(await session.over, 'UNAUTHENTICATED'));
  await assert.rejects(session.cancels(), { code: 'UNAUTHENTICATED' });
});

// Requests that would be sent again and again

test('a question that no frame holds is refused here, and the others go on', async (t) => {
  const node = await nodeScene(t);
  const session = await openSession(t, { url: node.service.address, secret: await secretOf(node) });
  await push(node);
  const [lease] = (await claim(session)) as [Assignment];
  const huge = 'é'.repeat(3 * 1024 * 1024);
  await assert.rejects(spawn(session, lease, { unique: huge }), { code: 'TOO_LARGE' });
  await assert.rejects(remember(session, lease, huge, 1), { code: 'TOO_LARGE' });
  assert.deepEqual(await session.renew([lease]), ['held']);
  await session.complete(lease, 1);
});

test('an odd wish of a handler is refused, and does not end the connection of all the others', async (t) => {
  const node = await nodeScene(t);
  const proxy = await TcpProxy.before(node.service.address);
  t.after(() => proxy.close());
  const session = await openSession(t, { url: proxy.address, secret: await secretOf(node) });
  await push(node);
  const [lease] = (await claim(session)) as [Assignment];
  for (const odd of [{ priority: 'high' }, { colour: 'red' }, { delay: {} }, { queue: 7 }]) {
    await assert.rejects(spawn(session, lease, odd), { code: 'INVALID_INPUT' });
  }
  await session.complete(lease, 1);
  assert.equal(proxy.count, 1);
});

test('who answers with something that is no message is no node: it is left, and tried again', async (t) => {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  t.after(() => server.close());
  await once(server, 'listening');
  const nonsense = ['{', 'null', '[null]', '7', Buffer.from([0, 255]), '{"type":"refused","re":1}', ''];
  const all = Promise.withResolvers<void>();
  let dials = 0;
  server.on('connection', (socket) => {
    socket.on('error', () => {});
    if (dials < nonsense.length) socket.send(nonsense[dials++] as string);
    else {
      all.resolve();
      socket.send(JSON.stringify({ type: 'connect_ok', leaseMs: 1000 }));
    }
    // A problem that it can live with does not end the connection.
    setImmediate(() => dials < nonsense.length && socket.close());
  });
  const world: World = { ...realWorld(), random: () => 0 };
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await openSession(t, { url, secret: 'x', world });
  await all.promise;
});

test('results and logs of a megabyte pass, and what is larger is refused as it is without a wire', async (t) => {
  const node = await nodeScene(t);
  const session = await openSession(t, { url: node.service.address, secret: await secretOf(node) });
  for (let i = 0; i < 3; i++) await push(node, i);
  const [plain, quotes, log] = (await claim(session, 3)) as [Assignment, Assignment, Assignment];
  const most = 'x'.repeat(1_048_576 - 2);
  await assert.rejects(session.complete(plain, `${most}x`), { code: 'TOO_LARGE' });
  await assert.rejects(node.engine.complete(plain, `${most}x`), { code: 'TOO_LARGE' });
  await session.complete(plain, most);
  assert.equal((await node.engine.get(plain.task))?.result?.length, 1_048_576);
  // Each takes four bytes on the way.
  await session.complete(quotes, '"'.repeat(524_287));
  assert.equal((await node.engine.get(quotes.task))?.result?.length, 1_048_576);
  const text = 'é'.repeat(32_768);
  const lines = Array.from({ length: 16 }, (_, i) => ({ seq: i + 1, at: 5, stream: 'stdout' as const, text }));
  await session.log(log, lines);
  assert.deepEqual(
    (await node.engine.logs.read(log.task)).map((line) => line.text === text),
    lines.map(() => true),
  );
  await assert.rejects(session.log(log, [{ seq: 17, at: 5, stream: 'stdout', text: `${text}x` }]), {
    code: 'TOO_LARGE',
  });
});

// While the node is down

test('what is asked while nobody has been there for a lease is refused, and may be asked again', async (t) => {
  const scene = await hubScene(t, { leaseMs: 30_000 });
  const proxy = await TcpProxy.before(scene.address);
  t.after(() => proxy.close());
  const session = await openSession(t, { url: proxy.address, secret: await scene.enrol('a'), world: scene.world });
  await scene.push();
  const [lease] = (await claim(session)) as [Assignment];
  proxy.goDeaf();
  proxy.cut();
  while (scene.world.waits.length < 2) await new Promise((resolve) => void setImmediate(resolve));
  const done = session.complete(lease, 1);
  let refused = false;
  const seen = assert.rejects(done, (error) => {
    refused = true;
    return isEngineError(error, 'STORE_UNAVAILABLE') && error.retryable;
  });
  await scene.world.advance(29_000);
  assert.equal(refused, false, 'a restart of the node is waited for');
  await scene.world.advance(1000);
  await seen;
  const beat = assert.rejects(session.beat('draining'), { code: 'STORE_UNAVAILABLE' });
  await scene.world.advance(5000);
  await beat;
  // A deaf network takes connections, and says nothing on them.
  proxy.heal();
  proxy.cut();
  const again = session.complete(lease, 1);
  let settled = false;
  void again.finally(() => (settled = true)).catch(() => {});
  while (!settled) await scene.world.advance(100);
  await again;
  assert.equal((await scene.engine.get(lease.task))?.state, 'completed');
});

test('a worker that is told to stop while its node is away ends, whatever it had to say', async (t) => {
  const node = await nodeScene(t, { leaseMs: 500 });
  const secret = await secretOf(node);
  const started = Promise.withResolvers<void>();
  const end = Promise.withResolvers<void>();
  const hold = task('echo', {
    run: async () => {
      started.resolve();
      await end.promise;
    },
  });
  const world = realWorld();
  const link = new WsLink({ url: node.service.address, secret, world, log: SILENT });
  const worker = makeWorker({ tasks: [hold], name: 'a' }, { link, world, log: SILENT, name: 'a' });
  await worker.start();
  await push(node);
  await started.promise;
  await node.service.close();
  const stopped = worker.stop();
  end.resolve();
  await stopped;
});

// The leases that it reports

interface ReceivedFrame {
  readonly type: string;
  readonly n?: number;
  readonly max: number;
  readonly leases: readonly unknown[];
  readonly state?: string;
}

/** A node that accepts every worker, grants every claim and keeps every lease. */
async function credulousGateway(t: TestContext, leaseMs = 9000) {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(server, 'listening');
  t.after(() => {
    for (const socket of server.clients) socket.terminate();
    server.close();
  });
  const greetings: { readonly holding: readonly { readonly task: number }[] }[] = [];
  const heard: string[] = [];
  let tasks = 0;
  let dialled = 0;
  let refuses = false;
  server.on('connection', (socket) => {
    dialled++;
    if (refuses) socket.terminate();
    socket.on('ping', () => heard.push('ping'));
    socket.on('message', (data: Buffer) => {
      const said = JSON.parse(data.toString()) as ReceivedFrame;
      if (['alive', 'heartbeat'].includes(said.type)) heard.push([said.type, said.state].join(' ').trim());
      if (said.n === undefined && said.type !== 'connect') return;
      const ok = (value: unknown): void => socket.send(JSON.stringify({ type: 'ok', re: said.n, value }));
      if (said.type === 'connect') {
        greetings.push(JSON.parse(data.toString()));
        socket.send(JSON.stringify({ type: 'connect_ok', leaseMs }));
      } else if (said.type === 'task_claim') {
        ok(Array.from({ length: said.max }, () => ({ ...GRANT, task: ++tasks, token: `token ${tasks}` })));
      } else if (said.type === 'lease_renew') ok(said.leases.map((_, i) => (i === 0 ? 'lost' : 'held')));
      else ok(said.type === 'cancels' ? [] : undefined);
    });
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    greetings,
    heard,
    dials: () => dialled,
    breakAll: () => server.clients.forEach((socket) => socket.terminate()),
    refuseAll: () => void (refuses = true),
  };
}

const GRANT = {
  attempt: 1,
  id: 'task_01a1de00-1c2a-7000-8000-00000d79a779',
  queue: 'work',
  handler: 'echo',
  payload: 'null',
  tries: 1,
  maxTries: 3,
  createdAt: 1,
  suspect: false,
};

test('a worker says what it holds: not what has ended, was lost, or was given up without a word', async (t) => {
  const { url, greetings, breakAll } = await credulousGateway(t);
  const world = new VirtualWorld();
  const session = await openSession(t, { url, secret: 'x', world });
  const leases = await claim(session, 6);
  const [done, lost, kept, other] = leases as [Assignment, Assignment, Assignment, Assignment];
  await session.complete(done, 1);
  const back = async (): Promise<readonly number[]> => {
    const before = greetings.length;
    breakAll();
    while (greetings.length === before) await world.advance(100);
    await session.cancels();
    return (greetings.at(-1) as (typeof greetings)[number]).holding.map((proof) => proof.task);
  };
  assert.deepEqual(await back(), [2, 3, 4, 5, 6]);
  assert.deepEqual(await session.renew([lost, kept, other]), ['lost', 'held', 'held']);
  assert.deepEqual(await back(), [5, 6, 3, 4]);
  // However long the node was away, what waits to be settled is named.
  world.elapse(600_000);
  assert.deepEqual(await back(), [5, 6, 3, 4]);
  const [fresh] = (await claim(session)) as [Assignment];
  assert.deepEqual(await session.renew([other, kept]), ['lost', 'held']);
  assert.deepEqual(await back(), [fresh.task, 3]);
});
