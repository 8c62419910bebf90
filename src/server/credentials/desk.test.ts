import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { DirectLink } from '../../app/link/direct-link.ts';
import { openNode } from '../../app/node.ts';
import type { CredentialValue } from '../../core/credential/value.ts';
import { SILENT } from '../../engine/log.ts';
import { ClusterSecret } from '../../operate/cluster-secret.ts';
import { CredentialSafe } from '../../operate/credentials/safe.ts';
import type { CredentialOrder } from '../../protocol/credential-envelope.ts';
import { VirtualWorld } from '../../testing.ts';
import { MemoryShelf } from '../../worker/vault/shelf.ts';
import { Vault } from '../../worker/vault/vault.ts';
import { CredentialDesk } from './desk.ts';

async function scene(t: TestContext) {
  const world = new VirtualWorld();
  const node = await openNode('memory:', { world, duties: false, housekeeping: false });
  t.after(() => node.close());
  const { engine } = node;
  const safe = new CredentialSafe(new ClusterSecret('the secret of the test', engine.store.clusterKey));
  const desk = new CredentialDesk({ engine, safe, world, log: SILENT });
  const put = (name: string, version: number, value: string, workers: readonly string[] = ['box']) => {
    const sealed = { version, sealed: safe.seal(name, version, { value }), kind: 'text' } as const;
    return engine.credentials.put({ name, value: sealed, addWorkers: workers });
  };
  const holding = async (credential = 'db', worker = 'box') =>
    (await engine.credentials.holdings({ worker, credentials: [credential] }))[0];
  return { world, engine, desk, put, holding };
}

type Scene = Awaited<ReturnType<typeof scene>>;

/** A worker of ours, and what it was told. */
async function client({ desk }: Scene, { exposed = false, connected = true } = {}) {
  const vault = new Vault('box', new MemoryShelf());
  const session = await desk.open({ name: 'box', vault: vault.report, exposed, connected });
  assert.ok(session);
  const told: CredentialOrder[] = [];
  const obey = async (order: CredentialOrder): Promise<void> => {
    told.push(order);
    await session.ack(await vault.take(order, () => session.signer));
  };
  return { vault, session, told, obey };
}

/** Everything that is under way has ended: a chain of reads and writes of the store in memory. */
async function settled(world: VirtualWorld): Promise<void> {
  for (let n = 0; n < 20; n++) {
    await world.settle();
    await new Promise((resolve) => void setImmediate(resolve));
  }
}

test('a worker is sent what it should have, and a change at once', async (t) => {
  const at = await scene(t);
  await at.put('db', 1, 'first value');
  const box = await client(at);
  box.session.subscribe((order) => void box.obey(order));
  await settled(at.world);
  assert.deepEqual(await box.vault.read('db'), { value: 'first value' });
  assert.equal((await at.holding())?.status, 'stored');
  await at.put('db', 2, 'second value');
  await settled(at.world);
  assert.deepEqual(await box.vault.read('db'), { value: 'second value' });
  await at.engine.credentials.put({ name: 'db', removeWorkers: ['box'] });
  await settled(at.world);
  assert.deepEqual([box.vault.has('db'), (await at.holding())?.status], [false, 'removed']);
  box.session.leave();
  await at.put('db', 3, 'third value');
  await settled(at.world);
  assert.equal(box.told.length, 3, 'who has left is told nothing');
});

test('a change that another node made is found within a second', async (t) => {
  const at = await scene(t);
  const box = await client(at);
  box.session.subscribe((order) => void box.obey(order));
  await at.engine.store.credentialPut({
    name: 'db',
    value: { version: 1, sealed: 'not to be opened', kind: 'text' },
    addWorkers: ['box'],
  });
  await at.world.advance(600);
  await settled(at.world);
  const { status, error } = (await at.holding()) ?? {};
  assert.deepEqual(
    [status, error],
    ['failed', 'its value cannot be opened with the secret of this cluster; set it again'],
  );
  assert.deepEqual(box.told, []);
});

test('an order without an answer is given again after a while, and not before', async (t) => {
  const at = await scene(t);
  await at.put('db', 1, 'first value');
  const box = await client(at);
  const told: CredentialOrder[] = [];
  box.session.subscribe((order) => void told.push(order));
  await settled(at.world);
  for (let n = 0; n < 10; n++) {
    await at.world.advance(1000);
    await settled(at.world);
  }
  assert.equal(told.length, 1);
  for (let n = 0; n < 6; n++) {
    await at.world.advance(1000);
    await settled(at.world);
  }
  assert.equal(told.length, 2);
});

test('over a link that others can read nothing is sent, and the holding says why', async (t) => {
  const at = await scene(t);
  await at.put('db', 1, 'first value');
  const box = await client(at, { exposed: true });
  box.session.subscribe((order) => void box.obey(order));
  await settled(at.world);
  assert.deepEqual(box.told, []);
  assert.match((await at.holding())?.error ?? '', /neither TLS nor on the host of the node/);
});

test('a worker that fetches is told by its calls, at most so much at once', async (t) => {
  const at = await scene(t);
  for (const name of ['a', 'b', 'c']) await at.put(name, 1, `value of ${name}`);
  const box = await client(at, { connected: false });
  await settled(at.world);
  const first = await box.session.fetch(2);
  assert.deepEqual(
    first.map(({ name }) => name),
    ['a', 'b'],
  );
  for (const order of [...first, ...(await box.session.fetch(2))]) await box.obey(order);
  assert.deepEqual(
    box.vault.report.holds.map(({ name }) => name),
    ['a', 'b', 'c'],
  );
  await box.session.said(box.vault.report);
  assert.deepEqual(await box.session.fetch(2), []);
});

test('what a worker holds and nobody knows of it is told to remove', async (t) => {
  const at = await scene(t);
  const key = new Vault('box', new MemoryShelf()).report.key;
  const vault = { key, level: 'file', holds: [{ name: 'stray', version: 7 }] } as const;
  const session = await at.desk.open({ name: 'box', vault, exposed: false });
  const told: CredentialOrder[] = [];
  session?.subscribe((order) => void told.push(order));
  assert.deepEqual(told, [{ name: 'stray', version: 7, removed: true }]);
  assert.deepEqual(await at.engine.credentials.holdings(), []);
});

test('a disabled worker is sent nothing until it is enabled', async (t) => {
  const at = await scene(t);
  await at.engine.workers.set({ name: 'box', enabled: false });
  await at.put('db', 1, 'first value');
  const box = await client(at);
  box.session.subscribe((order) => void box.obey(order));
  await settled(at.world);
  assert.deepEqual(box.told, []);
  await at.engine.workers.set({ name: 'box', enabled: true });
  await settled(at.world);
  assert.equal(box.told.length, 1);
});

test('an agent is sent the value itself, answers by name, and cannot be told to remove', async (t) => {
  const at = await scene(t);
  await at.put('db', 1, 'first value', ['agent']);
  const agent = await at.desk.openAgent({ name: 'agent', holds: ['own', '../x'], exposed: false });
  const sent: (readonly [string, CredentialValue])[] = [];
  agent.begin((name, value) => void sent.push([name, value]));
  await settled(at.world);
  assert.deepEqual(sent, [['db', { value: 'first value' }]]);
  await agent.ack('db', 'failed', 'no room');
  assert.equal((await at.holding('db', 'agent'))?.error, 'no room');
  await agent.ack('other', 'stored', undefined);
  await at.engine.credentials.put({ name: 'db', addTags: ['x'] });
  await settled(at.world);
  await agent.ack('db', 'stored', undefined);
  assert.equal((await at.holding('db', 'agent'))?.status, 'stored');
  assert.equal((await at.holding('own', 'agent'))?.status, 'told');
  await at.engine.credentials.put({ name: 'db', removeWorkers: ['agent'] });
  await settled(at.world);
  const { status, error } = (await at.holding('db', 'agent')) ?? {};
  assert.equal(status, 'removing');
  assert.match(error ?? '', /know no message/);
  agent.leave();
});

test('a worker on the store itself is given credentials by its link', async (t) => {
  const at = await scene(t);
  await at.put('db', 1, 'first value');
  const link = new DirectLink(at.engine, undefined, { desk: at.desk });
  const vault = new Vault('box', new MemoryShelf());
  const hello = { name: 'box', incarnation: 'i', slots: 1, tags: [], handlers: ['echo'], queues: undefined };
  const session = await link.open({ ...hello, vault: vault.report });
  assert.ok(session.credentials);
  vault.follow(session.credentials, () => assert.fail());
  await settled(at.world);
  assert.deepEqual(await vault.read('db'), { value: 'first value' });
  assert.deepEqual((await at.engine.workers.list())[0]?.tags, ['credential:db']);
  await session.close();
  assert.equal((await link.open(hello)).credentials, undefined);
});
