import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { isEngineError } from '../../core/errors.ts';
import { refusal } from '../../store/conformance/kit/scene.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import type { Store } from '../../store/store.ts';
import { openStore } from '../store-url.ts';
import { realWorld } from '../world.ts';
import { admitNode } from './node-secret.ts';
import { renewSecret, secretStatus } from './renew-secret.ts';
import { type SecretSource, secretSource } from './secret-source.ts';

const temp = tempFolder('node-secret');
let places = 0;

interface Place {
  readonly url: string;
  readonly store: Store;
  /** The data folder of a host. */
  readonly folder: (host?: string) => string;
  readonly source: (host?: string) => SecretSource;
}

async function place(t: TestContext): Promise<Place> {
  const here = join(temp, `${++places}`);
  const url = `sqlite:${here}/work.db`;
  const store = await openStore(url, { world: realWorld(), housekeeping: false });
  t.after(() => store.close());
  const folder = (host = 'a'): string => join(here, host);
  return { url, store, folder, source: (host) => secretSource({ dataDir: folder(host) }) };
}

const GIVEN = 'a'.repeat(43);

test('the first node makes the secret, for its user alone, and finds it again', async (t) => {
  const { store, folder, source } = await place(t);
  const { secret, earlier } = await admitNode(store, source());
  const file = join(folder(), 'cluster-secret');
  assert.match(readFileSync(file, 'utf8'), /^lh_cls_[\w-]{43}\n$/);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.equal(earlier, undefined);
  assert.equal((await admitNode(store, source())).secret.fingerprint, secret.fingerprint);
  assert.doesNotMatch(JSON.stringify(await store.secretPin({})), /lh_cls_/);
});

test('a second node without the secret is told how to get it, and leaves nothing behind', async (t) => {
  const { store, folder, source } = await place(t);
  await admitNode(store, source('a'));
  await assert.rejects(admitNode(store, source('b')), (error) => {
    assert.ok(isEngineError(error, 'CONFLICT'));
    assert.match(error.message, /share a secret, and this node does not have it/);
    assert.match(
      error.hint ?? '',
      /cluster-secret[\s\S]*LEASEHOLD_CLUSTER_SECRET[\s\S]*--cluster-secret-file[\s\S]*--renew/,
    );
    return true;
  });
  assert.equal(existsSync(folder('b')), false);
});

test('a node with another secret is refused, wherever that comes from', async (t) => {
  const { store, folder, source } = await place(t);
  await admitNode(store, source('a'));
  const file = join(temp, 'another');
  writeFileSync(file, `${GIVEN}\n`);
  for (const other of [{ given: GIVEN }, { file }]) {
    await assert.rejects(admitNode(store, secretSource({ dataDir: folder('a'), ...other })), /has another one/);
  }
});

test('of two first nodes that bring different secrets one is refused, and its new file is gone', async (t) => {
  const { store, folder, source } = await place(t);
  // Nobody has a secret when it looks, and somebody is faster.
  const slow: Store = Object.create(store, {
    secretPin: {
      value: async (params: { fingerprint?: string }) => {
        if (params.fingerprint !== undefined) await admitNode(store, source('a'));
        return store.secretPin(params);
      },
    },
  });
  assert.equal(await refusal(admitNode(slow, source('b'))), 'CONFLICT');
  assert.equal(existsSync(join(folder('b'), 'cluster-secret')), false);
  await admitNode(store, source('a'));
});

test('the secret comes from a file that is named, the environment, systemd or the folder, in this order', async (t) => {
  const { folder } = await place(t);
  const [named, credentials] = [join(temp, 'named'), tempFolder('credentials')];
  writeFileSync(named, `${'n'.repeat(40)}\n`);
  const dataDir = folder();
  const own = secretSource({ dataDir, credentials });
  assert.equal(own.place, join(dataDir, 'cluster-secret'));
  assert.equal(own.read(), undefined);
  writeFileSync(join(credentials, 'cluster-secret'), `${'c'.repeat(40)}\n`);
  const all = { dataDir, credentials, given: 'g'.repeat(40), file: named };
  const { file: _, ...unnamed } = all;
  const { given: __, ...credential } = unnamed;
  assert.deepEqual(
    [all, unnamed, credential].map((places) => secretSource(places).read()?.[0]),
    ['n', 'g', 'c'],
  );
});

test('a secret that is too short, or a file that is not there, is refused', async () => {
  assert.throws(() => secretSource({ dataDir: temp, given: 'short' }).read(), /32 to 512/);
  assert.throws(() => secretSource({ dataDir: temp, given: ' '.repeat(40) }).read(), /32 to 512/);
  assert.throws(
    () => secretSource({ dataDir: temp, file: join(temp, 'nowhere') }).read(),
    (error) => isEngineError(error, 'NOT_FOUND'),
  );
});

test('a lost secret is renewed by one call, which a running node forbids', async (t) => {
  const { url, store, folder, source } = await place(t);
  assert.deepEqual((await secretStatus(url, source())).fits, 'no node has come yet');
  const before = await admitNode(store, source());
  assert.deepEqual((await secretStatus(url, source())).fits, 'yes');
  rmSync(join(folder(), 'cluster-secret'));
  assert.equal(await refusal(admitNode(store, source())), 'CONFLICT');
  assert.deepEqual((await secretStatus(url, source())).fits, 'missing');
  await store.nodeBeat({ id: 'n', incarnation: 'i', first: true, wish: 'auto', stand: 'leader' });
  assert.equal(await refusal(renewSecret(url, source())), 'CONFLICT');
  assert.equal(existsSync(join(folder(), 'cluster-secret')), false);
  await store.nodeLeave({ id: 'n', incarnation: 'i' });
  assert.equal((await renewSecret(url, source())).made, true);
  const after = await admitNode(store, source());
  assert.notEqual(after.secret.fingerprint, before.secret.fingerprint);
  assert.equal((await renewSecret(url, source())).made, true, 'again: the one here is that of the store');
  const other = secretSource({ dataDir: folder(), given: GIVEN });
  assert.deepEqual((await secretStatus(url, other)).fits, 'no');
  assert.equal((await renewSecret(url, other)).made, false);
  assert.equal(await refusal(renewSecret(url, other)), 'CONFLICT', 'a secret from outside is not made here');
});

test('leases that run when the first secret comes keep their tokens, and those granted since do not', async (t) => {
  const { store, source } = await place(t);
  const [lane] = await store.laneIntern({ lanes: [{ queue: 'q', handler: 'h' }] });
  const [spec] = await store.specIntern({ specs: ['{}'] });
  const worker = await store.workerRegister({ name: 'w', incarnation: 'i', slots: 9, tags: [] });
  const claim = async (): Promise<{ task: number; attempt: number }> => {
    const item = { lane: lane?.id as number, spec: spec as number, priority: 0, maxTries: 9, payload: '1' };
    await store.taskPush({ items: [item] });
    const lanes = [{ lane: lane?.id as number, max: 1 }];
    const [answer] = await store.taskClaim({ claims: [{ holder: worker, ttlMs: 60_000, max: 1, lanes }] });
    const grant = answer?.grants[0];
    assert.ok(grant);
    return { task: grant.task, attempt: grant.attempt };
  };
  const before = await claim();
  const first = await admitNode(store, source());
  assert.equal(first.earlier?.clusterKey, store.clusterKey);
  assert.equal(first.earlier?.has(before), true);
  const { calendar } = await store.clock();
  while ((await store.clock()).calendar === calendar) await new Promise((resolve) => void setImmediate(resolve));
  const since = await claim();
  const later = await admitNode(store, source());
  assert.deepEqual(
    [before, since, { ...before, attempt: 2 }].map((lease) => later.earlier?.has(lease)),
    [true, false, false],
  );
  await store.taskReturn({ items: [{ ...before, change: 'retried', delayMs: 0, refund: false, bounced: false }] });
  assert.equal((await admitNode(store, source())).earlier, undefined);
});
