import assert from 'node:assert/strict';
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { TestCluster } from '../../../test/support/credentials/sealer.ts';
import type { CredentialValue } from '../../core/credential/value.ts';
import type { CredentialAck, CredentialOrder } from '../../protocol/credential-envelope.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import { openVault, type VaultPlace } from './open-vault.ts';
import type { Vault } from './vault.ts';

const temp = tempFolder('vault');
const cluster = new TestCluster();
const environment = { credentials: undefined, session: { PATH: '/nonexistent' } };
let folders = 0;
const aFolder = (): string => join(temp, `vault-${++folders}`);

async function opened(folder: string | undefined, more: Partial<VaultPlace> = {}): Promise<Vault> {
  return (await openVault('box', { folder, environment, now: Date.now, ...more })).vault;
}

function order(vault: Vault, name: string, version: number, value: CredentialValue | string, by = cluster) {
  const sealed = typeof value === 'string' ? { value } : value;
  return { name, version, envelope: by.seal({ worker: 'box', key: vault.report.key, name, version }, sealed) };
}

const take = (vault: Vault, one: CredentialOrder, by = cluster): Promise<CredentialAck> =>
  vault.take(one, () => by.signer);
const give = (vault: Vault, name: string, version: number, value: CredentialValue | string, by = cluster) =>
  take(vault, order(vault, name, version, value, by), by);
const remove = (vault: Vault, name: string, version: number) => take(vault, { name, version, removed: true });

const LONG = 'a value that nobody else may see';

for (const [how, folder] of [
  ['in a folder', aFolder],
  ['in memory', () => undefined],
] as const) {
  test(`${how}: what was taken is held until it is removed, and each is acknowledged`, async () => {
    const place = folder();
    const vault = await opened(place);
    const level = place === undefined ? 'memory' : 'file';
    assert.deepEqual(await give(vault, 'db', 1, LONG), { name: 'db', version: 1, status: 'stored', level });
    assert.deepEqual(await vault.read('db'), { value: LONG });
    const login = { type: 'login', fields: { user: 'ann', password: LONG } };
    await give(vault, 'site', 7, login);
    assert.deepEqual(await vault.read('site'), login);
    assert.deepEqual(vault.report.holds, [
      { name: 'db', version: 1 },
      { name: 'site', version: 7 },
    ]);
    assert.deepEqual(await remove(vault, 'db', 1), { name: 'db', version: 1, status: 'removed' });
    assert.deepEqual(
      [vault.has('db'), await vault.read('db'), await vault.read('none')],
      [false, undefined, undefined],
    );
    assert.equal((await remove(vault, 'none', 4)).status, 'removed');
    assert.deepEqual(vault.report.holds, [{ name: 'site', version: 7 }]);
  });

  test(`${how}: a version never goes back, not by way of a removal either`, async () => {
    const vault = await opened(folder());
    const first = order(vault, 'db', 1, 'the first value');
    const second = order(vault, 'db', 2, 'the second value');
    assert.equal((await take(vault, second)).status, 'stored');
    assert.match((await take(vault, first)).error ?? '', /older than version 2/);
    assert.equal((await take(vault, second)).status, 'stored', 'the same version is acknowledged again');
    assert.deepEqual(await vault.read('db'), { value: 'the second value' });
    await remove(vault, 'db', 99);
    assert.equal((await take(vault, first)).status, 'failed');
    assert.equal((await take(vault, second)).status, 'stored', 'the same version may be given back');
    assert.equal((await give(vault, 'db', 3, 'the third value')).status, 'stored');
  });

  test(`${how}: the first cluster is believed, and no other one after it`, async () => {
    const vault = await opened(folder());
    const other = new TestCluster();
    assert.equal((await give(vault, 'db', 1, LONG)).status, 'stored');
    assert.match((await give(vault, 'db', 2, 'from elsewhere', other)).error ?? '', /another cluster/);
    assert.match((await give(vault, 'new', 1, 'from elsewhere', other)).error ?? '', /another cluster/);
    // Signed by the one, and told of as the other.
    assert.match((await take(vault, order(vault, 'db', 2, 'x', other))).error ?? '', /signature/);
    assert.deepEqual(await vault.read('db'), { value: LONG });
  });
}

test('a thousand are held at most', async () => {
  const vault = await opened(undefined);
  for (let i = 0; i < 1000; i++) assert.equal((await give(vault, `c${i}`, 1, LONG)).status, 'stored');
  assert.match((await give(vault, 'more', 1, LONG)).error ?? '', /no more/);
  assert.equal((await give(vault, 'c3', 2, LONG)).status, 'stored');
  await remove(vault, 'c3', 2);
  assert.equal((await give(vault, 'more', 1, LONG)).status, 'stored');
  assert.equal(vault.report.holds.length, 1000);
});

test('a name that leads elsewhere names no file', async () => {
  const vault = await opened(aFolder());
  for (const name of ['../db', '.db', 'a/b', '', 'A', 'x'.repeat(64)])
    assert.match((await give(vault, name, 1, LONG)).error ?? '', /no name/, name);
});

test('the next start has the same key, the same cluster and what was held', async () => {
  const folder = aFolder();
  const first = await opened(folder);
  await give(first, 'db', 4, LONG);
  await give(first, 'gone', 2, LONG);
  await remove(first, 'gone', 2);
  const second = await opened(folder);
  assert.equal(second.report.key, first.report.key);
  assert.deepEqual([second.report.holds, await second.read('db')], [[{ name: 'db', version: 4 }], { value: LONG }]);
  assert.equal((await give(second, 'gone', 1, LONG)).status, 'failed', 'what was removed is not forgotten');
  assert.match((await give(second, 'db', 5, LONG, new TestCluster())).error ?? '', /another cluster/);
  const enrolled = await opened(folder, { fresh: true });
  assert.notEqual(enrolled.report.key, first.report.key);
  assert.deepEqual(enrolled.report.holds, []);
  assert.equal((await give(enrolled, 'db', 1, LONG, new TestCluster())).status, 'stored');
});

test('nothing readable is on the disk, and everything is for this user alone', async () => {
  const folder = aFolder();
  const vault = await opened(folder);
  await give(vault, 'db', 1, LONG);
  const all = [folder, `${folder}-key`].flatMap((one) =>
    readdirSync(one, { recursive: true, withFileTypes: true }).map((entry) => join(entry.parentPath, entry.name)),
  );
  for (const path of [...all, folder, `${folder}-key`]) {
    const stat = statSync(path);
    assert.equal(stat.mode & 0o777, stat.isDirectory() ? 0o700 : 0o600, path);
    if (!stat.isFile()) continue;
    const text = readFileSync(path, 'latin1');
    for (const form of [LONG, Buffer.from(LONG).toString('base64').slice(0, 20), Buffer.from(LONG).toString('hex')])
      assert.ok(!text.includes(form), path);
  }
  chmodSync(folder, 0o755);
  await opened(folder);
  assert.equal(statSync(join(folder, 'box')).mode & 0o777, 0o700);
});

test('a removed or replaced value is overwritten where it was', async () => {
  const folder = aFolder();
  const vault = await opened(folder);
  const file = join(folder, 'box', 'held', 'db.json');
  for (const [at, how] of [
    [1, () => give(vault, 'db', 2, LONG)],
    [2, () => remove(vault, 'db', 2)],
  ] as const) {
    if (at === 1) await give(vault, 'db', 1, LONG);
    const other = join(temp, `linked-${at}`);
    linkSync(file, other);
    await how();
    assert.match(readFileSync(other, 'latin1'), /^\0+$/);
  }
  assert.ok(!readFileSync(file, 'utf8').includes('sealed'));
});

test('without its key, with another level, or with broken files nothing is held, and the worker goes on', async () => {
  for (const harm of [
    (folder: string) => rmSync(`${folder}-key`, { recursive: true }),
    (folder: string) => writeFileSync(join(folder, 'box', 'keys.json'), '{"v":1,"level":"file","sealed":"AAAA"}'),
    (folder: string) => writeFileSync(join(folder, 'box', 'keys.json'), 'not JSON'),
    (folder: string) => rmSync(join(folder, 'box', 'keys.json')),
  ]) {
    const folder = aFolder();
    const first = await opened(folder);
    await give(first, 'db', 4, LONG);
    harm(folder);
    const second = await opened(folder);
    assert.notEqual(second.report.key, first.report.key);
    assert.deepEqual(second.report.holds, []);
    assert.equal(existsSync(join(folder, 'box', 'held', 'db.json')), false);
    assert.match(
      (await give(second, 'db', 4, LONG, new TestCluster())).error ?? '',
      /another cluster/,
      'whom it believes stays',
    );
    assert.equal((await give(second, 'db', 4, LONG)).status, 'stored');
  }
  const folder = aFolder();
  const vault = await opened(folder);
  for (const name of ['a', 'b', 'c']) await give(vault, name, 1, LONG);
  const held = join(folder, 'box', 'held');
  writeFileSync(join(held, 'a.json'), readFileSync(join(held, 'b.json')));
  writeFileSync(join(held, 'c.json'), '{');
  writeFileSync(join(held, 'README'), 'somebody else');
  assert.deepEqual((await opened(folder)).report.holds, [{ name: 'b', version: 1 }]);
});

test('what a crash has left half written is removed, and what another process is writing is not', async () => {
  const folder = aFolder();
  await opened(folder);
  const [old, young] = ['.new-old', '.new-young'].map((name) => join(folder, 'box', 'held', name)) as [string, string];
  for (const path of [old, young]) writeFileSync(path, 'half');
  utimesSync(old, 1, 1);
  await opened(folder);
  assert.deepEqual([existsSync(old), existsSync(young)], [false, true]);
});

test('a vault that cannot be written says so and tells no path', async () => {
  const folder = aFolder();
  const vault = await opened(folder);
  const held = join(folder, 'box', 'held');
  rmSync(held, { recursive: true });
  writeFileSync(held, '');
  const ack = await give(vault, 'db', 1, LONG);
  assert.deepEqual([ack.status, vault.has('db')], ['failed', false]);
  assert.match(ack.error ?? '', /cannot be written \(ENOTDIR\)/);
  assert.ok(!(ack.error ?? '').includes(temp));
});

test('what somebody else has removed is not reported any more, and is taken again', async () => {
  const folder = aFolder();
  const vault = await opened(folder);
  const one = order(vault, 'db', 1, LONG);
  await take(vault, one);
  rmSync(join(folder, 'box', 'held', 'db.json'));
  assert.equal(await vault.read('db'), undefined);
  assert.deepEqual(vault.report.holds, []);
  assert.equal((await take(vault, one)).status, 'stored');
  assert.deepEqual(await vault.read('db'), { value: LONG });
});

test('workers that share a folder have nothing in common', async () => {
  const folder = aFolder();
  const place = { folder, environment, now: Date.now };
  const { vault: one } = await openVault('a.b', place);
  const { vault: other } = await openVault('..', place);
  assert.notEqual(one.report.key, other.report.key);
  assert.deepEqual(readdirSync(folder).sort(), ['%2E%2E', 'a%2Eb']);
});

test('a folder that is not there is made, and one that cannot be is an error', async () => {
  const file = join(temp, 'a-file');
  writeFileSync(file, '');
  await assert.rejects(opened(join(file, 'vault')));
  mkdirSync(join(temp, 'deep'));
  assert.equal((await opened(join(temp, 'deep', 'er', 'vault'))).level, 'file');
});

test('orders are carried out in their order, and each acknowledgement goes out', async () => {
  const vault = await opened(aFolder());
  const acks: CredentialAck[] = [];
  const warned: string[] = [];
  let tell: (one: CredentialOrder) => void = () => {};
  const done = Promise.withResolvers<void>();
  const stop = vault.follow(
    {
      signer: cluster.signer,
      subscribe: (listener) => {
        tell = listener;
        return () => {
          tell = () => {};
        };
      },
      ack: async (ack) => {
        acks.push(ack);
        if (acks.length === 4) done.resolve();
        if (acks.length === 1) throw new Error('the node is away');
      },
    },
    (message) => warned.push(message),
  );
  tell(order(vault, 'db', 1, LONG));
  tell({ name: 'db', version: 1, removed: true });
  tell(order(vault, 'db', 2, LONG));
  tell(order(vault, 'db', 1, LONG));
  await done.promise;
  assert.deepEqual(
    acks.map(({ status, version }) => `${status} ${version}`),
    ['stored 1', 'removed 1', 'stored 2', 'failed 1'],
  );
  assert.deepEqual(warned.sort(), ['a credential was not taken', 'the node did not take an acknowledgement']);
  stop();
});
