import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { type GatewayScene, type GatewaySceneOptions, hubScene } from '../../../test/support/gateway-scene.ts';
import { nodeScene } from '../../../test/support/node-scene.ts';
import { greeting, proofOf, RawWorker } from '../../../test/support/raw-worker.ts';
import type { ErrorBody } from '../../core/errors.ts';
import { newSecret } from '../../operate/secrets.ts';
import { REQUEST_TYPES } from '../../protocol/frames.ts';
import type { Link } from '../../protocol/link.ts';

// The upgrade

interface Knock {
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Asks for an upgrade by hand, and keeps its own side open whatever comes. */
async function knock(t: TestContext, address: string, { path = '/ws/agent', headers = {} }: Knock = {}) {
  const { hostname, port, host } = new URL(address);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  t.after(() => socket.destroy());
  await once(socket, 'connect');
  const all = {
    host,
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': Buffer.from('0123456789abcdef').toString('base64'),
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`);
  return { socket, status: await statusOf(socket) };
}

async function statusOf(socket: Socket): Promise<number> {
  let text = '';
  while (!text.includes('\r\n\r\n')) text += ((await once(socket, 'data')) as [Buffer])[0].toString();
  return Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1]);
}

test('an upgrade is refused by a wrong name, from any page, for another path and with anything in its query', async (t) => {
  const { address } = await hubScene(t);
  const own = new URL(address).origin;
  const knocks: readonly (readonly [number, Knock])[] = [
    [421, { headers: { host: 'leasehold.example.org' } }],
    [421, { headers: { host: '' } }],
    [403, { headers: { origin: 'https://evil.example.org' } }],
    [403, { headers: { origin: own } }],
    [403, { headers: { origin: 'null' } }],
    [404, { path: '/' }],
    [404, { path: '/ws/agent/a/lh_wrk_secret' }],
    [404, { path: '/api/v1/workers' }],
    [400, { path: '/ws/agent?secret=lh_wrk_secret' }],
    [400, { path: '/ws/agent?' }],
    [400, { headers: { 'sec-websocket-key': 'short' } }],
    [400, { headers: { upgrade: 'h2c' } }],
    [101, {}],
  ];
  for (const [status, given] of knocks) {
    assert.equal((await knock(t, address, given)).status, status, JSON.stringify(given));
  }
});

test('the server itself says the same, and who is refused cannot keep it from closing', async (t) => {
  const scene = await nodeScene(t);
  const { address } = scene.service;
  assert.equal((await knock(t, address, { headers: { host: 'evil.example.org' } })).status, 421);
  assert.equal((await knock(t, address, { headers: { origin: 'https://evil.example.org' } })).status, 403);
  assert.equal((await knock(t, address, { path: '/ws/other' })).status, 404);
  // None of them has closed its side, and none needs to.
  await scene.service.close();
});

test('who was refused is cut off although it keeps its own side open', async (t) => {
  const { address } = await hubScene(t);
  const { socket, status } = await knock(t, address, { headers: { host: 'evil.example.org' } });
  assert.equal(status, 421);
  socket.resume();
  await once(socket, 'end');
  // What is written to a socket that is gone comes back as a reset.
  const reset = once(socket, 'error');
  const flood = setInterval(() => socket.write('x'.repeat(1000)), 5);
  t.after(() => clearInterval(flood));
  assert.match(String((await reset)[0]), /EPIPE|ECONNRESET/);
});

// The greeting

test('whatever is wrong with a secret, who comes hears the same words', async (t) => {
  const scene = await hubScene(t);
  const revoked = await scene.enrol('a');
  const expired = await scene.enrol('a');
  const good = await scene.enrolment.secret('a', 'test', 1000);
  await scene.world.advance(1000);
  const code = await scene.enrolment.code('a', 'test');
  const used = await scene.enrolment.code('a', 'test');
  await scene.enrolment.exchange(used);
  const bad = ['', 'x', newSecret('worker'), good.slice(0, -1), `${good}x`, good.toUpperCase(), revoked, expired];
  const words = new Set<string>();
  for (const secret of [...bad, code, used, newSecret('admin')]) {
    const error = await (await scene.dial()).refused({ name: 'a', secret });
    assert.equal(error.code, 'UNAUTHENTICATED', secret);
    words.add(JSON.stringify(error));
  }
  assert.equal(words.size, 1, [...words].join('\n'));
  // Under a name that nobody knows too.
  const stranger = await (await scene.dial()).refused({ name: 'nobody', secret: newSecret('worker') });
  assert.ok(words.has(JSON.stringify(stranger)));
  await (await scene.dial()).enter({ name: 'a', secret: good });
});

test('who is let in hears how long leases hold, how often to beat and how long tasks may run', async (t) => {
  const node = await nodeScene(t, { leaseMs: 6000, taskTimeoutMs: '10m' });
  const { secret } = await node.call('createWorker', '/api/v1/workers', { body: { name: 'a' } });
  const worker = await RawWorker.dial(node.service.address);
  const said = await worker.greet({ name: 'a', secret });
  assert.deepEqual(said, {
    type: 'connect_ok',
    leaseMs: 6000,
    heartbeatMs: 2000,
    runTimeoutMs: 600_000,
    can: REQUEST_TYPES,
  });
});

test('no secret at all is not a greeting', async (t) => {
  const scene = await hubScene(t);
  for (const secret of [undefined, null, 7, { $ne: '' }, ['x']]) {
    assert.equal((await (await scene.dial()).refused({ name: 'a', secret })).code, 'INVALID_INPUT');
  }
});

test("a secret of another name, a user's token and the admin's are no worker's secret", async (t) => {
  const scene = await hubScene(t);
  await scene.enrol('a');
  const other = await scene.enrol('b');
  const tokens = [other, scene.admin];
  for (const role of ['admin', 'operator', 'read'] as const) {
    tokens.push((await scene.tokens.create({ name: `a-${role}`, role }, 'test')).token);
  }
  // A token may have the name of a worker.
  tokens.push((await scene.tokens.create({ name: 'a', role: 'admin' }, 'test')).token);
  for (const secret of tokens) {
    const error = await (await scene.dial()).refused({ name: 'a', secret });
    assert.equal(error.code, 'FORBIDDEN');
    assert.match(error.message, /not that of this worker/);
  }
  assert.deepEqual(await scene.engine.workers.list(), []);
});

test('the first message must be a greeting: anything else is refused, and the connection ends', async (t) => {
  const scene = await hubScene(t);
  const secret = await scene.enrol('a');
  const whole = greeting({ name: 'a', secret }) as Record<string, unknown>;
  const { incarnation: _, ...anonymous } = whole;
  const firsts: readonly unknown[] = [
    '',
    '{',
    'null',
    '[]',
    '"connect"',
    [whole],
    anonymous,
    { ...whole, type: 'hello' },
    { ...whole, slots: 0 },
    { ...whole, slots: 1e9 },
    { ...whole, handlers: 'echo' },
    { ...whole, handlers: ['no handler!'] },
    { ...whole, name: 'No Name' },
    { ...whole, queues: ['No Queue'] },
    { ...whole, holding: [{ task: 0, attempt: 1, token: '' }] },
    { type: 'task_claim', n: 1, max: 1, waitMs: 0 },
    { type: 'cancels', n: 1 },
    Buffer.from(JSON.stringify(whole)),
    Buffer.from([0, 159, 146, 150]),
    `${'['.repeat(2000)}${']'.repeat(2000)}`,
    `{"a":${'{"a":'.repeat(500)}1${'}'.repeat(501)}`,
  ];
  for (const first of firsts) {
    const worker = await scene.dial();
    worker.say(first);
    const said = await worker.hear(() => true);
    const label = String(first).slice(0, 80);
    assert.equal(said.type, 'connect_rejected', label);
    assert.ok(['INVALID_INPUT', 'FORBIDDEN'].includes((said.error as ErrorBody).code), label);
    assert.equal((await worker.closed).code, 1008, label);
  }
  assert.deepEqual(await scene.engine.workers.list(), []);
  assert.deepEqual(
    scene.complaints.filter(({ message }) => message.includes('could not be answered')),
    [],
  );
  // None of them has kept the name.
  await (await scene.dial()).enter({ name: 'a', secret });
});

test('a first message beyond the bound of strangers is not read', async (t) => {
  const scene = await hubScene(t);
  for (const length of [5000, 500_000]) {
    const worker = await scene.dial();
    worker.say(JSON.stringify({ type: 'connect', name: 'x'.repeat(length) }));
    await worker.closed;
    assert.deepEqual(
      worker.heard.map(({ error }) => error?.code),
      ['TOO_LARGE'],
    );
  }
});

test('a worker with a long first message and a secret that has ended is told that, and not that it says too much', async (t) => {
  const scene = await hubScene(t);
  const secret = await scene.enrol('a');
  await scene.enrolment.remove('a');
  for (const length of [5000, 500_000]) {
    const worker = await RawWorker.dial(scene.address, { authorization: `Bearer ${secret}` });
    worker.say({ type: 'connect', name: 'a', secret, incarnation: 'x'.repeat(length) });
    await worker.closed;
    assert.deepEqual(
      worker.heard.map(({ error }) => error?.code),
      ['UNAUTHENTICATED'],
    );
  }
});

test('who does not say who it is within ten seconds is cut off', async (t) => {
  const scene = await hubScene(t);
  const [silent, talker] = [await scene.dial(), await scene.dial()];
  // The node counts from when it accepted the connection, which may be a moment after we have it.
  while (scene.gateway.connected < 2) await new Promise((resolve) => void setImmediate(resolve));
  await talker.enter({ name: 'a', secret: await scene.enrol('a') });
  await silent.hangUp();
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const late = await scene.dial();
  while (scene.gateway.connected < 2) await new Promise((resolve) => void setImmediate(resolve));
  t.mock.timers.tick(9_999);
  assert.equal(late.socket.readyState, late.socket.OPEN);
  t.mock.timers.tick(1);
  assert.equal((await late.closed).code, 4408);
  t.mock.timers.reset();
  await talker.quiet();
});

test('a greeting that comes again, or a message that is none, ends the connection', async (t) => {
  const scene = await hubScene(t);
  const secret = await scene.enrol('a');
  const again = greeting({ name: 'a', secret });
  for (const second of [again, [again], '{', '7', '[7]', '[[]]', { type: 'cancels' }, { type: 'cancels', n: 'x' }]) {
    const worker = await scene.worker({ name: 'a', secret });
    worker.say(second);
    assert.deepEqual(await worker.closed, { code: 1007, reason: 'that is not a message' }, JSON.stringify(second));
  }
  const worker = await scene.worker({ name: 'a', secret });
  worker.say(Buffer.from(JSON.stringify({ type: 'cancels', n: 1 })));
  assert.equal((await worker.closed).code, 1007, 'messages are text');
  const deep = await scene.worker({ name: 'a', secret });
  deep.say(`${'['.repeat(10_000)}${']'.repeat(10_000)}`);
  assert.equal((await deep.closed).code, 1007);
  const large = await scene.worker({ name: 'a', secret });
  large.say(' '.repeat(5 * 1024 * 1024));
  assert.equal((await large.closed).code, 1009);
});

test('what a worker says right behind its greeting is not lost', async (t) => {
  const scene = await hubScene(t);
  const worker = await scene.dial();
  worker.socket.setMaxListeners(20);
  // In one packet: nobody may depend on how the network cuts them.
  const stream = (worker.socket as unknown as { readonly _socket: Socket })._socket;
  stream.cork();
  worker.say(greeting({ name: 'a', secret: await scene.enrol('a') }));
  for (let n = 1; n <= 10; n++) worker.say({ type: 'cancels', n });
  stream.uncork();
  for (let n = 1; n <= 10; n++) assert.equal((await worker.hear(({ re }) => re === n)).type, 'ok');
});

// Tags, names and incarnations

test('a tag that was not given is refused, and what was given may be carried', async (t) => {
  const scene = await hubScene(t);
  const secret = await scene.enrol('a');
  const error = await (await scene.dial()).refused({ name: 'a', secret, tags: ['gpu'] });
  assert.equal(error.code, 'FORBIDDEN');
  assert.match(error.message, /the tag gpu was not given to the worker a/);
  assert.match(error.hint ?? '', /workers tag a --add gpu/);
  await scene.engine.workers.set({ name: 'a', tags: ['gpu', 'region=eu'] });
  assert.equal((await (await scene.dial()).refused({ name: 'a', secret, tags: ['gpu', 'root'] })).code, 'FORBIDDEN');
  // The tags of another name are not one's own.
  await scene.engine.workers.set({ name: 'b', tags: ['root'] });
  assert.equal((await (await scene.dial()).refused({ name: 'a', secret, tags: ['root'] })).code, 'FORBIDDEN');
  await (await scene.dial()).enter({ name: 'a', secret, tags: ['gpu'] });
  assert.deepEqual(
    (await scene.engine.workers.list()).map(({ name, tags }) => [name, tags]),
    [['a', ['gpu', 'region=eu']]],
  );
});

test('a tag that is taken away is gone from a worker that is connected', async (t) => {
  const scene = await hubScene(t);
  await scene.engine.workers.set({ name: 'a', tags: ['gpu'] });
  const worker = await scene.worker({ name: 'a', tags: ['gpu'] });
  await scene.engine.push({ queue: 'work', handler: 'echo', placement: { requires: ['gpu'] } });
  await scene.engine.workers.set({ name: 'a', tags: [] });
  assert.deepEqual((await scene.engine.workers.list())[0]?.tags, []);
  assert.deepEqual(await worker.claim(), []);
});

test('what is said of a worker reaches it within a second, and who is disabled is granted nothing more', async (t) => {
  const scene = await hubScene(t);
  const worker = await scene.worker({ name: 'a' });
  const other = await scene.worker({ name: 'b' });
  await scene.push();
  const lease = await worker.claimOne();
  worker.say({ type: 'task_claim', n: 50, max: 1, waitMs: 5000 });
  await worker.quiet();
  // By another process, so that nothing here can hear of it but by looking.
  await scene.engine.store.workerSet({ name: 'a', enabled: false, priority: 7, tags: ['gpu'] });
  await scene.push();
  await aSecond(scene);
  assert.deepEqual(await worker.hear(({ type }) => type === 'config_update'), {
    type: 'config_update',
    enabled: false,
    priority: 7,
    tags: ['gpu'],
  });
  await scene.world.advance(5000);
  assert.deepEqual((await worker.hear(({ re }) => re === 50)).value, []);
  // It ends what it has.
  await worker.told('task_complete', { lease: proofOf(lease), result: '1' });
  assert.deepEqual(await worker.claim(), []);
  await scene.engine.store.workerSet({ name: 'a', enabled: true, priority: null });
  await aSecond(scene);
  const again = await worker.hear(({ type, enabled }) => type === 'config_update' && enabled === true);
  assert.deepEqual(again, { type: 'config_update', enabled: true, priority: 0, tags: ['gpu'] });
  await worker.claimOne();
  assert.equal(other.heard.filter(({ type }) => type === 'config_update').length, 0);
});

test('a name runs what it offered when it first joined, is told what it does not get, and gets it once it is granted', async (t) => {
  const scene = await hubScene(t);
  const first = await scene.worker({ name: 'a', handlers: ['echo'] });
  await first.hangUp();
  const worker = await scene.worker({ name: 'a', incarnation: 'two', handlers: ['echo', 'pay', 'http'] });
  assert.deepEqual((await worker.hear(({ type }) => type === 'connect_ok')).leftOut, ['pay']);
  await scene.engine.push({ queue: 'work', handler: 'pay' });
  assert.deepEqual(await worker.claim(), []);
  await scene.engine.store.workerSet({ name: 'a', grant: { handlers: ['echo', 'pay'] } });
  await aSecond(scene);
  assert.equal((await worker.closed).code, 4000);
  const again = await scene.worker({ name: 'a', incarnation: 'two', handlers: ['echo', 'pay'] });
  assert.equal((await again.hear(({ type }) => type === 'connect_ok')).leftOut, undefined);
  await again.claimOne();
});

test("who comes under another worker's incarnation is refused, and the other one goes on", async (t) => {
  const scene = await hubScene(t);
  const honest = await scene.worker({ name: 'a', incarnation: 'one' });
  await scene.push();
  const lease = await honest.claimOne();
  const thief = await (await scene.dial()).refused({
    name: 'b',
    secret: await scene.enrol('b'),
    incarnation: 'one',
    holding: [proofOf(lease)],
  });
  assert.equal(thief.code, 'CONFLICT');
  await honest.told('task_complete', { lease: proofOf(lease), result: '1' });
  // The name that it came under is free for a worker with the right to it.
  await scene.worker({ name: 'b' });
});

test('a second process of a name is refused while the first lives, and may come when it is gone', async (t) => {
  const scene = await hubScene(t);
  const secret = await scene.enrol('a');
  const first = await scene.worker({ name: 'a', secret });
  const error = await (await scene.dial()).refused({ name: 'a', secret });
  assert.equal(error.code, 'CONFLICT');
  assert.match(error.message, /a worker named a is connected already/);
  await first.quiet();
  await first.hangUp();
  const second = await eventually(scene, { name: 'a', secret });
  await second.quiet();
});

/** The node notices a hang-up a moment after us. */
async function eventually(scene: GatewayScene, given: Parameters<RawWorker['greet']>[0]): Promise<RawWorker> {
  for (;;) {
    const worker = await scene.dial();
    const said = await worker.greet(given);
    if (said.type === 'connect_ok') return worker;
    assert.equal(said.error?.code, 'CONFLICT');
  }
}

test('a process that comes back takes its own place, and its leases go on', async (t) => {
  const scene = await hubScene(t);
  const secret = await scene.enrol('a');
  const given = { name: 'a', secret, incarnation: 'one' };
  const first = await scene.worker(given);
  await scene.push();
  const lease = await first.claimOne();
  // The old connection is still there, as with a network that went deaf.
  const second = await scene.worker({ ...given, holding: [proofOf(lease)] });
  assert.equal((await first.closed).code, 1006);
  assert.deepEqual(await second.told('lease_renew', { leases: [proofOf(lease)] }), ['held']);
  await second.told('task_complete', { lease: proofOf(lease), result: '{"by":"a"}' });
  const record = await scene.engine.get(lease.task);
  assert.deepEqual([record?.state, record?.attempt, record?.result], ['completed', 1, '{"by":"a"}']);
  assert.equal((await scene.engine.workers.list()).length, 1);
});

test('who cannot be let in leaves its name free for others', async (t) => {
  const scene = await hubScene(t);
  const secret = await scene.enrol('a');
  await (await scene.dial()).refused({ name: 'a', secret, handlers: ['no handler!'] });
  await (await scene.dial()).enter({ name: 'a', secret });
});

test('who hangs up while it is being let in leaves its name free, and nothing is held for it', async (t) => {
  const gate = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  let opens = 0;
  const scene = await hubScene(t, {
    link: (direct): Link => ({
      open: async (hello) => {
        if (++opens === 1) {
          asked.resolve();
          await gate.promise;
        }
        return direct.open(hello);
      },
    }),
  });
  const secret = await scene.enrol('a');
  const fickle = await scene.dial();
  fickle.say(greeting({ name: 'a', secret }));
  await asked.promise;
  await fickle.hangUp();
  // As long as the node keeps the socket in its list, it has not noticed the hang-up.
  while (scene.gateway.connected > 0) await new Promise((resolve) => void setImmediate(resolve));
  gate.resolve();
  await scene.world.settle();
  const other = await scene.dial();
  await other.enter({ name: 'a', secret });
  assert.equal(opens, 2);
});

// The end of a secret

/** Moves time by a second in small steps, so that what happens in it happens. */
async function aSecond(scene: GatewayScene): Promise<void> {
  for (let i = 0; i < 10; i++) await scene.world.advance(100);
}

test('a worker whose secret ends is cut off within a second, and its neighbour is not', async (t) => {
  const ends: Readonly<Record<string, (scene: GatewayScene) => Promise<unknown>>> = {
    revoked: async ({ tokens }) => {
      const own = (await tokens.list()).find(({ name }) => name === 'a');
      return tokens.revoke(own?.id as number);
    },
    removed: ({ enrolment }) => enrolment.remove('a'),
    rotated: ({ enrolment }) => enrolment.secret('a', 'test'),
  };
  for (const [how, end] of Object.entries(ends)) {
    const scene = await hubScene(t);
    const secret = await scene.enrol('a');
    const bad = await scene.worker({ name: 'a', secret });
    const good = await scene.worker({ name: 'b' });
    await aSecond(scene);
    await bad.quiet();
    await end(scene);
    await aSecond(scene);
    assert.deepEqual(await bad.closed, { code: 4401, reason: 'the secret was revoked' }, how);
    await good.quiet();
    assert.equal((await (await scene.dial()).refused({ name: 'a', secret })).code, 'UNAUTHENTICATED', how);
  }
});

test('a rotation with grace lets the old secret go on for that long and no longer', async (t) => {
  const scene = await hubScene(t);
  const old = await scene.enrol('a');
  const worker = await scene.worker({ name: 'a', secret: old, incarnation: 'one' });
  const fresh = await scene.enrolment.secret('a', 'test', 60_000);
  await scene.world.advance(59_000);
  await worker.quiet();
  await scene.world.advance(1000);
  await aSecond(scene);
  assert.equal((await worker.closed).code, 4401);
  assert.equal((await (await scene.dial()).refused({ name: 'a', secret: old })).code, 'UNAUTHENTICATED');
  await (await scene.dial()).enter({ name: 'a', secret: fresh, incarnation: 'one' });
});

test('over HTTP too a worker that was removed is cut off within a second, by the clock on the wall', async (t) => {
  const scene = await nodeScene(t);
  const { secret } = await scene.call('createWorker', '/api/v1/workers', { body: { name: 'a' } });
  const worker = await RawWorker.dial(scene.service.address);
  await worker.enter({ name: 'a', secret });
  await scene.call('removeWorker', '/api/v1/workers/a');
  const removedAt = performance.now();
  assert.equal((await worker.closed).code, 4401);
  const took = performance.now() - removedAt;
  assert.ok(took < 1000, `it took ${took} ms`);
});

test('nothing counts that a worker says after its secret has ended, whether it hears of that or not', async (t) => {
  const scene = await hubScene(t);
  const worker = await scene.worker({ name: 'a' });
  const { task } = await scene.push();
  const lease = await worker.claimOne();
  // It does not read, so that it answers no closing.
  worker.socket.pause();
  await scene.enrolment.remove('a');
  await aSecond(scene);
  worker.say({ type: 'task_complete', n: 90, lease: proofOf(lease), result: '1' });
  worker.say({ type: 'task_claim', n: 91, max: 1, waitMs: 0 });
  // Cut off by us, not by its good will.
  while (scene.gateway.connected > 0) await new Promise((resolve) => void setTimeout(resolve, 10));
  const record = await scene.engine.get(task);
  assert.deepEqual([record?.state, record?.attempt], ['running', 1]);
});

// The end of the node

test('a node that stops says 1012, and who waited for work then takes none with it', async (t) => {
  const scene = await hubScene(t);
  const waiting = await scene.worker({ name: 'a' });
  waiting.say({ type: 'task_claim', n: 1, max: 5, waitMs: 30_000 });
  await waiting.quiet();
  const pushed = scene.push();
  const closing = scene.gateway.close();
  const { task } = await pushed;
  await closing;
  assert.deepEqual(await waiting.closed, { code: 1012, reason: 'the node stops; come back' });
  const record = await scene.engine.get(task);
  const granted = waiting.heard.find(({ re }) => re === 1)?.value as readonly unknown[] | undefined;
  // Either it was told of it, or nobody has it.
  if ((granted?.length ?? 0) === 0) assert.deepEqual([record?.state, record?.tries], ['ready', 0]);
  else assert.equal(record?.state, 'running');
  assert.equal(scene.gateway.connected, 0);
});

/** Claims that are granted and whose answers lie at a gate, as on a store that is slow. */
function slowClaims(gate: Promise<void>, asked: () => void): NonNullable<GatewaySceneOptions['link']> {
  return (direct) => ({
    open: async (hello) => {
      const session = await direct.open(hello);
      const claim = session.claim.bind(session);
      session.claim = async (request) => {
        const granted = await claim(request);
        asked();
        await gate;
        return granted;
      };
      return session;
    },
  });
}

test('a node that stops waits for claims under way, and gives back what they were granted', async (t) => {
  const [gate, asked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const scene = await hubScene(t, { link: slowClaims(gate.promise, asked.resolve) });
  const { task } = await scene.push();
  const worker = await scene.worker({ name: 'a' });
  worker.say({ type: 'task_claim', n: 1, max: 1, waitMs: 30_000 });
  await asked.promise;
  let closed = false;
  const closing = scene.gateway.close().then(() => {
    closed = true;
  });
  await worker.closed;
  while (scene.gateway.connected > 0) await new Promise((resolve) => void setImmediate(resolve));
  await scene.world.settle();
  assert.equal(closed, false);
  gate.resolve();
  await closing;
  const record = await scene.engine.get(task);
  assert.deepEqual([record?.state, record?.tries], ['ready', 0]);
});

test('it waits no longer than five seconds for a claim that does not end', async (t) => {
  const asked = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  t.after(() => gate.resolve());
  const scene = await hubScene(t, { link: slowClaims(gate.promise, asked.resolve) });
  await scene.push();
  const worker = await scene.worker({ name: 'a' });
  worker.say({ type: 'task_claim', n: 1, max: 1, waitMs: 30_000 });
  await asked.promise;
  const closing = scene.gateway.close();
  await worker.closed;
  while (scene.gateway.connected > 0) await new Promise((resolve) => void setImmediate(resolve));
  await scene.world.advance(5000);
  await closing;
});

test('a node that stops waits no longer than a moment for workers that do not answer', async (t) => {
  const scene = await hubScene(t);
  const deaf = await scene.worker({ name: 'a' });
  const silent = await scene.dial();
  deaf.socket.pause();
  silent.socket.pause();
  await scene.gateway.close();
  assert.equal(scene.gateway.connected, 0);
});

test('who comes while the node stops is sent away', async (t) => {
  const scene = await hubScene(t);
  await scene.worker({ name: 'a' });
  const closing = scene.gateway.close();
  assert.equal((await knock(t, scene.address)).status, 503);
  await closing;
});

// What is remembered

test('what was granted and never arrived goes back up to five minutes after the last hang-up, not the first', async (t) => {
  const scene = await hubScene(t, { leaseMs: 3_600_000 });
  const secret = await scene.enrol('a');
  const given = { name: 'a', secret, incarnation: 'one' };
  const first = await scene.worker(given);
  await scene.push();
  await first.claimOne();
  const { task } = await scene.push();
  await first.hangUp();
  const gone = async (): Promise<void> => {
    while (scene.gateway.connected > 0) await new Promise((resolve) => void setImmediate(resolve));
  };
  await gone();
  await scene.world.advance(299_000);
  const second = await scene.worker({ ...given, holding: [] });
  const lease = await second.claimOne();
  const other = await second.claimOne();
  assert.equal(task, Math.max(lease.task, other.task));
  await second.hangUp();
  await gone();
  await scene.world.advance(2000);
  // It says that it never heard of one of them.
  await scene.worker({ ...given, holding: [proofOf(lease)] });
  const record = await scene.engine.get(other.task);
  assert.deepEqual([record?.state, record?.tries], ['ready', 0]);
});
