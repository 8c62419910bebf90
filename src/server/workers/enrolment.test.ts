import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type GatewayScene, hubScene } from '../../../test/support/gateway-scene.ts';
import { nodeScene } from '../../../test/support/node-scene.ts';
import { RawWorker } from '../../../test/support/raw-worker.ts';
import { isEngineError } from '../../core/errors.ts';
import { newSecret } from '../../operate/secrets.ts';
import { Access } from '../auth/access.ts';

async function scene(t: TestContext): Promise<GatewayScene & { readonly access: Access }> {
  const own = await hubScene(t);
  return Object.assign(own, { access: new Access(own.admin, own.tokens, own.world) });
}

async function unknown(asked: Promise<unknown>): Promise<string> {
  const error = await asked.then(
    () => assert.fail('it was taken'),
    (reason: unknown) => reason,
  );
  assert.ok(isEngineError(error, 'UNAUTHENTICATED'), String(error));
  return JSON.stringify(error);
}

test('a code is exchanged once for a secret that lets the worker in', async (t) => {
  const it = await scene(t);
  const code = await it.enrolment.code('a', 'someone');
  assert.match(code, /^lh_code_[\w-]{43}$/);
  const { name, secret } = await it.enrolment.exchange(code);
  assert.equal(name, 'a');
  assert.match(secret, /^lh_wrk_[\w-]{43}$/);
  await unknown(it.enrolment.exchange(code));
  await it.worker({ name, secret });
});

test('of eight that exchange a code at once one gets the secret', async (t) => {
  const it = await scene(t);
  const code = await it.enrolment.code('a', 'someone');
  const answers = await Promise.allSettled(Array.from({ length: 8 }, () => it.enrolment.exchange(code)));
  const got = answers.filter((one) => one.status === 'fulfilled');
  assert.equal(got.length, 1);
  for (const one of answers)
    if (one.status === 'rejected') assert.ok(isEngineError(one.reason, 'UNAUTHENTICATED'), String(one.reason));
  await it.worker({ name: 'a', secret: got[0]?.value.secret });
  assert.equal((await it.tokens.list()).filter(({ kind }) => kind === 'secret').length, 1);
});

test('the same over HTTP, by eight requests at once', async (t) => {
  const node = await nodeScene(t);
  const { code, join } = await node.call('createWorker', '/api/v1/workers', { body: { name: 'a', code: true } });
  assert.equal(join, `LEASEHOLD_WORKER_CODE=${code} leasehold worker --join ${node.service.address}`);
  const enrol = () => node.ask('/api/v1/workers/enrol', { body: { code }, token: null });
  const answers = await Promise.all(Array.from({ length: 8 }, enrol));
  assert.deepEqual(
    answers.map(({ status }) => status).toSorted((a, b) => a - b),
    [201, 401, 401, 401, 401, 401, 401, 401],
  );
  const { secret } = answers.find(({ status }) => status === 201)?.body ?? {};
  await (await RawWorker.dial(node.service.address)).enter({ name: 'a', secret });
});

test('a code is good for ten minutes, and not a moment longer', async (t) => {
  const it = await scene(t);
  const [first, second] = [await it.enrolment.code('a', 'someone'), await it.enrolment.code('b', 'someone')];
  await it.world.advance(599_999);
  await it.enrolment.exchange(first);
  await it.world.advance(1);
  await unknown(it.enrolment.exchange(second));
});

test('a newer code ends the one before', async (t) => {
  const it = await scene(t);
  const old = await it.enrolment.code('a', 'someone');
  const code = await it.enrolment.code('a', 'someone');
  await unknown(it.enrolment.exchange(old));
  await it.enrolment.exchange(code);
});

test('whatever is wrong with a code, the answer is the same', async (t) => {
  const it = await scene(t);
  const secret = await it.enrol('a');
  const expired = await it.enrolment.code('a', 'someone');
  await it.world.advance(600_000);
  const used = await it.enrolment.code('b', 'someone');
  await it.enrolment.exchange(used);
  const removed = await it.enrolment.code('c', 'someone');
  await it.enrolment.remove('c');
  const { token } = await it.tokens.create({ name: 't', role: 'admin' }, 'someone');
  const bad = ['', 'x', newSecret('code'), used.slice(0, -1), expired, used, removed, secret, token, it.admin];
  const words = await Promise.all(bad.map((code) => unknown(it.enrolment.exchange(code))));
  assert.equal(new Set(words).size, 1, [...new Set(words)].join('\n'));
});

test('a code is no token and no secret', async (t) => {
  const it = await scene(t);
  const code = await it.enrolment.code('a', 'someone');
  await unknown(it.access.authenticate(code));
  assert.equal((await (await it.dial()).refused({ name: 'a', secret: code })).code, 'UNAUTHENTICATED');
  const node = await nodeScene(t);
  const made = await node.call('createWorker', '/api/v1/workers', { body: { name: 'a', code: true } });
  for (const path of ['/api/v1/tasks', '/api/v1/workers', '/metrics']) {
    assert.equal((await node.ask(path, { token: made.code })).status, 401, path);
  }
  assert.equal((await node.ask('/api/v1/workers/enrol', { body: { code: made.code }, token: null })).status, 201);
});

test('neither secrets nor codes are kept, only their hashes', async (t) => {
  const it = await scene(t);
  const secret = await it.enrol('a');
  const code = await it.enrolment.code('b', 'someone');
  const kept = JSON.stringify(await it.tokens.list());
  for (const one of [secret, code]) {
    const random = one.slice(one.lastIndexOf('_', 8) + 1);
    assert.ok(!kept.includes(random.slice(4)), 'more than its first characters');
  }
});

test('a name that no worker can have gets no secret and no code', async (t) => {
  const it = await scene(t);
  for (const name of ['', 'No Name', 'a/b', '../a', 'a\n', 'x'.repeat(64)]) {
    await assert.rejects(it.enrolment.secret(name, 'someone'), { code: 'INVALID_INPUT' });
    await assert.rejects(it.enrolment.code(name, 'someone'), { code: 'INVALID_INPUT' });
  }
  assert.deepEqual(await it.tokens.list(), []);
});

test('a new secret ends the others of its name at once, or after the grace, and no other name', async (t) => {
  const it = await scene(t);
  const other = await it.enrol('b');
  const first = await it.enrol('a');
  const second = await it.enrolment.secret('a', 'someone', 10_000);
  for (const good of [first, second, other]) await it.access.authenticate(good);
  await it.world.advance(10_000);
  await unknown(it.access.authenticate(first));
  const third = await it.enrolment.secret('a', 'someone');
  // A token that was found is trusted for half a second more.
  await it.world.advance(500);
  await unknown(it.access.authenticate(second));
  assert.equal((await it.access.authenticate(third)).name, 'a');
  assert.equal((await it.access.authenticate(other)).name, 'b');
});

test('a worker that was removed is unknown, with its secrets and codes', async (t) => {
  const it = await scene(t);
  const secret = await it.enrol('a');
  const code = await it.enrolment.code('a', 'someone');
  await it.engine.workers.set({ name: 'a', tags: ['gpu'] });
  assert.equal(await it.enrolment.knows('a'), true);
  assert.equal(await it.enrolment.remove('a'), 2);
  assert.equal(await it.enrolment.knows('a'), false);
  await unknown(it.access.authenticate(secret));
  await unknown(it.enrolment.exchange(code));
  // The next worker of that name inherits nothing.
  const next = await it.worker({ name: 'a' });
  await next.quiet();
  assert.deepEqual((await it.engine.workers.list()).at(-1)?.tags, []);
});
