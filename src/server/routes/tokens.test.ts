import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { messagesOf, type NodeScene, nodeScene } from '../../../test/support/node-scene.ts';
import { hashOf, newSecret, prefixOf } from '../../operate/secrets.ts';
import type { Route } from '../../protocol/route.ts';
import { ROUTES } from '../../protocol/routes.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import type { NewToken } from '../../store/store.ts';
import { VirtualWorld } from '../../testing.ts';

const TOKENS = '/api/v1/tokens';

/** Time moves only when the test moves it. */
async function scene(t: TestContext): Promise<{ world: VirtualWorld; node: NodeScene }> {
  const world = new VirtualWorld();
  return { world, node: await nodeScene(t, { world, duties: false, housekeeping: false }) };
}

const create = (
  node: NodeScene,
  body: object,
): Promise<{ id: number; token: string; prefix: string; expiresAt?: number }> =>
  node.call('createToken', TOKENS, { body });
const statusOf = async (node: NodeScene, token: string): Promise<number> =>
  (await node.ask('/api/v1/queues', { token })).status;

/** Straight into the store, as other routes make them. */
async function added(node: NodeScene, kind: NewToken['kind'], role: NewToken['role']): Promise<string> {
  const secret = newSecret(kind === 'code' ? 'code' : role);
  const token = { kind, role, name: `a ${kind}`, hash: hashOf(secret), prefix: prefixOf(secret), by: 'test' };
  await node.engine.store.tokenAdd({ token });
  return secret;
}

test('the text of a token is in the answer that made it and nowhere else: no list, no file', async (t) => {
  const file = join(tempFolder('tokens'), 'secret.db');
  const node = await nodeScene(t, { store: `sqlite:${file}` });
  const made: { token: string; id: number }[] = [];
  for (let i = 0; i < 30; i++) made.push(await create(node, { name: `token ${i}`, role: 'read', ttl: '1h' }));
  for (const { id } of made.slice(0, 10))
    made.push(await node.call('rotateToken', `${TOKENS}/${id}/rotate`, { body: {} }));
  for (const { token } of made.slice(10)) assert.equal(await statusOf(node, token), 200);
  const list = JSON.stringify(await node.call('listTokens', TOKENS));
  const bytes = Buffer.concat([file, `${file}-wal`].map((path) => readFileSync(path)));
  assert.ok(bytes.includes('token 29'), 'what is looked into is the store');
  for (const { token } of made) {
    const random = token.slice(token.indexOf('_', 3) + 1);
    for (let from = 0; from + 8 <= random.length; from += 4) {
      const part = random.slice(from, from + 8);
      assert.ok(!list.includes(part) && !bytes.includes(part), `${part} of ${token} was found`);
    }
  }
});

test('a list says of each token what it is for, who made it and how it ended, newest first', async (t) => {
  const { world, node } = await scene(t);
  const first = await create(node, { name: 'ci', role: 'operator' });
  const second = await create(node, { name: 'grafana', role: 'read', ttl: '1h' });
  await node.call('revokeToken', `${TOKENS}/${first.id}`);
  const { tokens } = await node.call('listTokens', TOKENS);
  assert.deepEqual(tokens, [
    {
      id: second.id,
      kind: 'bearer',
      role: 'read',
      name: 'grafana',
      prefix: second.prefix,
      by: 'admin',
      createdAt: world.clock.wall(),
      expiresAt: world.clock.wall() + 3_600_000,
    },
    {
      id: first.id,
      kind: 'bearer',
      role: 'operator',
      name: 'ci',
      prefix: first.prefix,
      by: 'admin',
      createdAt: world.clock.wall(),
      revokedAt: world.clock.wall(),
    },
  ]);
  const admin = await create(node, { name: 'boss', role: 'admin' });
  const { by } = await node.call('createToken', TOKENS, { body: { name: 'x', role: 'read' }, token: admin.token });
  assert.equal(by, 'boss');
});

test('a token ends with its time, to the second', async (t) => {
  const { world, node } = await scene(t);
  const { token } = await create(node, { name: 'short', role: 'read', ttl: '10s' });
  world.elapse(9_999);
  assert.equal(await statusOf(node, token), 200);
  world.elapse(501);
  assert.equal(await statusOf(node, token), 401);
});

test('a rotation without grace ends the old token within a second, and the new one is like it', async (t) => {
  const { world, node } = await scene(t);
  const old = await create(node, { name: 'ci', role: 'operator', ttl: '1h' });
  assert.equal(await statusOf(node, old.token), 200);
  world.elapse(1_800_000);
  const fresh = await node.call('rotateToken', `${TOKENS}/${old.id}/rotate`, { body: {} });
  assert.deepEqual([fresh.name, fresh.role, fresh.kind], ['ci', 'operator', 'bearer']);
  assert.notEqual(fresh.id, old.id);
  assert.equal(await statusOf(node, fresh.token), 200);
  world.elapse(500);
  assert.equal(await statusOf(node, old.token), 401);
  assert.equal(fresh.expiresAt - fresh.createdAt, 3_600_000, 'one that was good for an hour is not good for ever');
  world.elapse(3_600_000);
  assert.equal(await statusOf(node, fresh.token), 401);
});

test('a rotation with grace leaves both good until it is over', async (t) => {
  const { world, node } = await scene(t);
  const old = await create(node, { name: 'ci', role: 'read' });
  const other = await create(node, { name: 'other', role: 'read' });
  const fresh = await node.call('rotateToken', `${TOKENS}/${old.id}/rotate`, { body: { grace: '1m' } });
  assert.equal(fresh.expiresAt, undefined);
  world.elapse(59_000);
  assert.deepEqual([await statusOf(node, old.token), await statusOf(node, fresh.token)], [200, 200]);
  world.elapse(1_500);
  assert.deepEqual([await statusOf(node, old.token), await statusOf(node, fresh.token)], [401, 200]);
  assert.equal(await statusOf(node, other.token), 200);
});

test('a revocation closes what lives by the token within a second, and the next request is refused', async (t) => {
  const { world, node } = await scene(t);
  const { task, id } = await node.engine.push({ queue: 'q', handler: 'h' });
  const revoked = await create(node, { name: 'bad', role: 'read' });
  const kept = await create(node, { name: 'good', role: 'read' });
  const open = async (path: string, token: string): Promise<ReturnType<typeof messagesOf>> =>
    messagesOf(await fetch(node.url(path), { headers: node.headers({ token }) }));
  const ended = await Promise.all(
    ['/api/v1/events', `/api/v1/tasks/${id}/logs?follow=1`].map((path) => open(path, revoked.token)),
  );
  const lives = await open('/api/v1/events', kept.token);
  await node.call('revokeToken', `${TOKENS}/${revoked.id}`);
  const closed = Promise.all(ended.map((messages) => assert.rejects(async () => messages.next())));
  await world.advance(1000);
  await closed;
  assert.equal(await statusOf(node, revoked.token), 401);
  await node.engine.cancel(task);
  assert.equal((await lives.next()).value?.event, 'cancelled');
});

test('what cannot be revoked or rotated says why', async (t) => {
  const { node } = await scene(t);
  const { id } = await create(node, { name: 'ci', role: 'read' });
  await node.call('revokeToken', `${TOKENS}/${id}`);
  for (const gone of [id, 4242]) {
    const revoked = await node.ask(`${TOKENS}/${gone}`, { method: 'DELETE' });
    const rotated = await node.ask(`${TOKENS}/${gone}/rotate`, { body: {} });
    assert.deepEqual([revoked.status, rotated.status, rotated.body.error.code], [404, 404, 'NOT_FOUND']);
  }
  for (const bad of ['0', '-1', '1.5', '1e2', 'x', '0x1', '%20', '9'.repeat(20)]) {
    assert.equal((await node.ask(`${TOKENS}/${bad}`, { method: 'DELETE' })).status, 400, bad);
  }
});

test('what a token may not be is refused, and nothing is made', async (t) => {
  const { node } = await scene(t);
  await create(node, { name: 'ci', role: 'read' });
  for (const [status, body] of [
    [400, {}],
    [400, { name: 'x' }],
    [400, { name: '', role: 'read' }],
    [400, { name: 'x'.repeat(101), role: 'read' }],
    [400, { name: 'x', role: 'worker' }],
    [400, { name: 'x', role: 'root' }],
    [400, { name: 'x', role: 'read', ttl: 'soon' }],
    [400, { name: 'x', role: 'read', ttl: -1 }],
    [400, { name: 'x', role: 'read', token: 'mine' }],
    [400, { name: 'a\u0000b', role: 'read' }],
    [400, { name: 'a\nb', role: 'read' }],
    [400, '{"name":"\\ud800","role":"read"}'],
    [409, { name: 'ci', role: 'admin' }],
  ] as const) {
    const answer = await node.ask(TOKENS, { body });
    assert.equal(answer.status, status, JSON.stringify(body));
  }
  assert.equal((await node.call('listTokens', TOKENS)).tokens.length, 1);
});

test("a worker's token opens no route of users, and a code opens nothing at all", async (t) => {
  const { node } = await scene(t);
  const worker = await added(node, 'secret', 'worker');
  const code = await added(node, 'code', 'worker');
  for (const [name, route] of Object.entries(ROUTES as Record<string, Route>)) {
    // Each method of a route that is open to any role needs a role of its own.
    if (route.access === 'open' || route.access === 'worker' || route.access === 'any') continue;
    const ask = { method: route.method, ...(route.method === 'GET' ? {} : { body: {} }) };
    const path = route.path.replace(/\{\w+\}/g, '1');
    assert.equal((await node.ask(path, { ...ask, token: worker })).status, 403, name);
    assert.equal((await node.ask(path, { ...ask, token: code })).status, 401, name);
  }
});
