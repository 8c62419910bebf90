import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { TestCluster } from '../../../test/support/credentials/sealer.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import { problemOf, systemKeyring } from './keyring.ts';
import { openVault, type VaultPlace } from './open-vault.ts';

const temp = tempFolder('protection');
let places = 0;

/** A folder with a `secret-tool` that is this script. */
function host(script?: string): { readonly folder: string; readonly bin: string; readonly ring: string } {
  const home = join(temp, `host-${++places}`);
  const [bin, ring] = [join(home, 'bin'), join(home, 'ring')];
  for (const folder of [bin, ring]) mkdirSync(folder, { recursive: true });
  if (script !== undefined) {
    writeFileSync(join(bin, 'secret-tool'), `#!/bin/sh\necho "$*" >> ${ring}/.argv\n${script}`);
    chmodSync(join(bin, 'secret-tool'), 0o700);
  }
  return { folder: join(home, 'vault'), bin, ring };
}

const WORKS = `for last; do :; done; f="$RING/$last"
case $1 in
  store) cat > "$f" ;;
  lookup) cat "$f" 2>/dev/null || exit 1 ;;
  clear) rm -f "$f" ;;
esac`;

const sessionOf = ({ bin, ring }: ReturnType<typeof host>) => ({ PATH: `${bin}:/usr/bin:/bin`, RING: ring });

function open(at: ReturnType<typeof host>, more: Partial<VaultPlace> = {}, credentials?: string) {
  const environment = { credentials, session: sessionOf(at) };
  return openVault('box', { folder: at.folder, environment, now: Date.now, ...more });
}

const cluster = new TestCluster();

async function give(vault: Awaited<ReturnType<typeof open>>['vault']): Promise<string> {
  const to = { worker: 'box', key: vault.report.key, name: 'db', version: 1 };
  const { status } = await vault.take(
    { ...to, envelope: cluster.seal(to, { value: 'hunter2hunter2' }) },
    () => cluster.signer,
  );
  return status;
}

test('a keyring that works keeps the key of the vault, and no secret is ever among arguments', async () => {
  const at = host(WORKS);
  const { vault, because } = await open(at);
  assert.deepEqual([vault.level, because, await give(vault)], ['keyring', undefined, 'stored']);
  const again = await open(at);
  assert.deepEqual(await again.vault.read('db'), { value: 'hunter2hunter2' });
  const argv = readFileSync(join(at.ring, '.argv'), 'utf8');
  const [id] = /vault ([0-9a-f]{32})$/m.exec(argv)?.slice(1) ?? [];
  const key = readFileSync(join(at.ring, id ?? ''), 'utf8');
  assert.equal(Buffer.from(key, 'base64').length, 32);
  assert.ok(!argv.includes(key));
});

test('a keyring that is missing, refuses, lies or keeps what it should remove is none', async () => {
  for (const [script, why] of [
    [undefined, /no secret-tool/],
    ['exit 1', /does not take a secret/],
    ['exit 0', /cannot be read/],
    [`case $1 in store) cat > /dev/null ;; lookup) echo nonsense ;; esac`, /cannot be read/],
    [WORKS.replace('rm -f "$f"', ':'), /cannot be removed/],
  ] as const) {
    const at = host(script);
    const problem = await problemOf(systemKeyring({ ...sessionOf(at), PATH: `${at.bin}:/usr/bin:/bin` }));
    assert.match(problem ?? '', why);
    const { vault, because } = await open(at);
    assert.equal(vault.level, 'file');
    assert.match(because ?? '', why);
    await assert.rejects(open(at, { demand: 'keyring' }), { code: 'INVALID_INPUT' });
  }
});

test('key material of systemd comes first, and satisfies a demand for a keyring', async () => {
  const at = host(WORKS);
  const credentials = join(temp, `credentials-${places}`);
  mkdirSync(credentials);
  assert.equal((await open(at, {}, credentials)).vault.level, 'keyring', 'this unit has none of ours');
  writeFileSync(join(credentials, 'leasehold-vault'), Buffer.alloc(48, 7));
  const { vault } = await open(at, { demand: 'keyring' }, credentials);
  assert.deepEqual([vault.level, await give(vault)], ['systemd', 'stored']);
  assert.deepEqual(await (await open(at, {}, credentials)).vault.read('db'), { value: 'hunter2hunter2' });
  writeFileSync(join(credentials, 'leasehold-vault'), Buffer.alloc(48, 8));
  assert.deepEqual((await open(at, {}, credentials)).vault.report.holds, [], 'other material opens nothing');
  writeFileSync(join(credentials, 'leasehold-vault'), 'short');
  await assert.rejects(open(at, {}, credentials), /fewer than 32 bytes/);
});

test('a demand for files or memory asks no keyring, and memory leaves nothing', async () => {
  const at = host(WORKS);
  assert.equal((await open(at, { demand: 'file' })).vault.level, 'file');
  const memory = await open({ ...at, folder: join(temp, 'unwritten') }, { demand: 'memory' });
  assert.equal(memory.vault.level, 'memory');
  assert.equal(await give(memory.vault), 'stored');
  assert.throws(() => readFileSync(join(at.ring, '.argv')), { code: 'ENOENT' });
  assert.throws(() => readFileSync(join(temp, 'unwritten')), { code: 'ENOENT' });
});

test('a keyring that comes or goes moves the vault to another level, and nothing is held until it is given again', async () => {
  const at = host(WORKS);
  const first = await open(at);
  await give(first.vault);
  writeFileSync(join(at.bin, 'secret-tool'), '#!/bin/sh\nexit 1\n');
  const second = await open(at);
  assert.deepEqual([second.vault.level, second.vault.report.holds], ['file', []]);
  assert.equal(await give(second.vault), 'stored');
});
