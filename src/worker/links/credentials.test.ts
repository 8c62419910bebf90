/** Credentials over the links, at a node that does nothing else. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { CredentialNode } from '../../../test/support/credentials/node.ts';
import { makeWorker } from '../../app/worker.ts';
import { realWorld } from '../../app/world.ts';
import { SILENT } from '../../engine/log.ts';
import { VirtualWorld } from '../../testing.ts';
import { linkContract } from '../conformance/link-contract.ts';
import type { LinkOperator, LinkSetting } from '../conformance/scene.ts';
import { task } from '../define/task.ts';
import { MemoryShelf } from '../vault/shelf.ts';
import { Vault } from '../vault/vault.ts';
import { HttpLink } from './http-link.ts';
import { WsLink } from './ws-link.ts';

const LINKS = [
  ['WebSocket', WsLink],
  ['HTTP', HttpLink],
] as const;

for (const [name, SomeLink] of LINKS) {
  linkContract({ name: `${name}, credentials`, topics: ['credentials'], open: () => setting(SomeLink) });
}

test('a worker keeps what it is given, and says so when it comes again', async (t) => {
  const { node, vault, stop } = await running(t, WsLink);
  const value = { value: 'hunter2hunter2' };
  assert.deepEqual(pick(await node.give('box', 'db', 1, value)), ['db', 1, 'stored', 'memory']);
  assert.deepEqual(await vault.read('db'), value);
  node.vaults.clear();
  node.breakOff();
  await node.until(() => (node.vaults.get('box')?.holds.length ?? 0) > 0);
  assert.deepEqual(node.vaults.get('box')?.holds, [{ name: 'db', version: 1 }]);
  node.order('box', { name: 'db', version: 1, removed: true });
  await node.until(() => node.acks.length === 2);
  assert.deepEqual([pick(node.acks[1]), vault.has('db')], [['db', 1, 'removed', undefined], false]);
  await stop();
});

test('what is no envelope is refused, and the session goes on', async (t) => {
  const { node, vault, stop } = await running(t, WsLink);
  await node.until(() => node.vaults.has('box'));
  node.order('box', { name: 'db', version: 1, envelope: { v: 9 } as never });
  await node.until(() => node.acks.length === 1);
  assert.deepEqual(pick(node.acks[0]), ['db', 1, 'failed', 'memory']);
  assert.equal((await node.give('box', 'db', 2, { value: 'hunter2hunter2' })).status, 'stored');
  assert.ok(vault.has('db'));
  await stop();
});

test('a node that signs nothing is not believed, and over HTTP not asked', async (t) => {
  for (const [, SomeLink] of LINKS) {
    const node = await CredentialNode.start(t);
    node.signer = undefined;
    const { vault, stop } = await running(t, SomeLink, node);
    await node.until(() => node.heard.some((text) => text.includes('"state":"online"')));
    node.order('box', node.seal('box', 'db', 1, { value: 'hunter2hunter2' }));
    if (SomeLink === WsLink) await node.until(() => node.acks.length === 1);
    assert.equal(vault.has('db'), false);
    assert.ok(!node.heard.some((text) => text.includes('credential_acks')));
    await stop();
  }
});

function pick(ack: CredentialNode['acks'][number] | undefined): readonly unknown[] {
  return [ack?.name, ack?.version, ack?.status, ack?.level];
}

async function running(t: TestContext, SomeLink: typeof WsLink | typeof HttpLink, given?: CredentialNode) {
  const node = given ?? (await CredentialNode.start(t));
  const world = realWorld();
  const vault = new Vault('box', new MemoryShelf());
  const link = new SomeLink({ url: node.url, secret: 's', world, log: SILENT });
  const noop = task('noop', { run: () => {} });
  const parts = { link, world, log: SILENT, name: 'box', vault: async () => vault };
  const worker = makeWorker({ tasks: [noop], name: 'box' }, parts);
  t.after(() => worker.stop({ drain: false }));
  void worker.start();
  return { node, vault, stop: () => worker.stop({ drain: false }) };
}

async function setting(SomeLink: typeof WsLink | typeof HttpLink): Promise<LinkSetting> {
  const closings: (() => void)[] = [];
  const node = await CredentialNode.start({ after: (close: () => void) => void closings.push(close) } as TestContext);
  return {
    link: new SomeLink({ url: node.url, secret: 's', world: realWorld(), log: SILENT }),
    operator: {} as LinkOperator,
    tick: () => Promise.resolve(),
    world: new VirtualWorld(),
    credentials: {
      signer: node.cluster.signer,
      order: (worker, order) => node.order(worker, order),
      vaultOf: async (worker) => node.vaults.get(worker),
      acksOf: async () =>
        node.acks.map(({ name, version, status, level, error }) => ({
          name,
          version,
          status,
          ...(level === undefined ? {} : { level }),
          ...(error === undefined ? {} : { error }),
        })),
    },
    close: async () => {
      for (const close of closings) close();
    },
  };
}
