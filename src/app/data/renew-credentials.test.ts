/** Credentials when the secret of the cluster becomes another one. */
import assert from 'node:assert/strict';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { isEngineError } from '../../core/errors.ts';
import { ClusterSecret } from '../../operate/cluster-secret.ts';
import { CredentialSafe } from '../../operate/credentials/safe.ts';
import { signerOf } from '../../operate/credentials/signer.ts';
import { refusal } from '../../store/conformance/kit/scene.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import { openStore } from '../store-url.ts';
import { realWorld } from '../world.ts';
import { admitNode } from './node-secret.ts';
import { renewSecret } from './renew-secret.ts';
import { secretSource } from './secret-source.ts';

const temp = tempFolder('renew-credentials');
let places = 0;

/** A store with one credential and a signer, sealed under the secret of its folder. */
async function place(t: TestContext) {
  const dataDir = join(temp, `${++places}`);
  const url = `sqlite:${dataDir}/work.db`;
  const store = await openStore(url, { world: realWorld(), housekeeping: false });
  t.after(() => store.close());
  const source = secretSource({ dataDir });
  const safe = async () => new CredentialSafe((await admitNode(store, source)).secret);
  const first = await safe();
  const sealed = first.seal('db', 1, { value: 'hunter2hunter2' });
  await store.credentialPut({ name: 'db', value: { version: 1, sealed, kind: 'text' } });
  const { publicKey } = await signerOf(store, first);
  const open = async (by: CredentialSafe) => {
    const [found] = await store.credentialValues({});
    return by.open('db', found?.valueVersion ?? 0, found?.sealed ?? '');
  };
  return { url, store, source, dataDir, safe, publicKey, open, before: `${dataDir}/cluster-secret.before` };
}

test('with another secret the values and the signer are the same, and the old one opens nothing', async (t) => {
  const { url, store, source, safe, publicKey, open, before } = await place(t);
  const old = await safe();
  const renewed = await renewSecret(url, source);
  assert.deepEqual([renewed.made, renewed.kept, renewed.lost], [true, 1, []]);
  const now = await safe();
  assert.deepEqual(await open(now), { value: 'hunter2hunter2' });
  assert.equal((await signerOf(store, now)).publicKey, publicKey);
  await assert.rejects(open(old), (error) => isEngineError(error, 'CREDENTIAL_LOCKED'));
  assert.equal(existsSync(before), false);
});

test('a process that ended before the store took the new secret has lost nothing', async (t) => {
  const { url, source, safe, open, before } = await place(t);
  source.replace?.();
  assert.equal(existsSync(before), true);
  const renewed = await renewSecret(url, source);
  assert.deepEqual([renewed.kept, renewed.lost], [1, []]);
  assert.deepEqual(await open(await safe()), { value: 'hunter2hunter2' });
  assert.equal(existsSync(before), false);
});

test('a secret from outside needs the old one beside it, or the word that the values are lost', async (t) => {
  const { url, store, source, dataDir, publicKey, open } = await place(t);
  const given = 'b'.repeat(43);
  const other = secretSource({ dataDir, given });
  assert.equal(await refusal(renewSecret(url, other)), 'CONFLICT');
  const safe = new CredentialSafe(new ClusterSecret(given, store.clusterKey));
  assert.equal((await renewSecret(url, other, { earlier: source })).kept, 1);
  assert.deepEqual(await open(safe), { value: 'hunter2hunter2' });
  rmSync(join(dataDir, 'cluster-secret'));
  const third = secretSource({ dataDir, given: 'c'.repeat(43) });
  assert.equal(await refusal(renewSecret(url, third)), 'CONFLICT');
  assert.deepEqual((await renewSecret(url, third, { lose: true })).lost, ['db']);
  const last = new CredentialSafe(new ClusterSecret('c'.repeat(43), store.clusterKey));
  assert.notEqual(
    (await signerOf(store, last)).publicKey,
    publicKey,
    'there is another signer, so workers are enrolled again',
  );
});
