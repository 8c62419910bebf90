import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isEngineError } from '../../core/errors.ts';
import { openSqlite } from '../../store/sqlite/open.ts';
import { VirtualWorld } from '../../testing.ts';
import { ClusterSecret } from '../cluster-secret.ts';
import { CredentialSafe } from './safe.ts';
import { signerOf } from './signer.ts';

const CANARY = 'hunter2-canary';
const safe = (text = 'one secret', cluster = 'cluster'): CredentialSafe =>
  new CredentialSafe(new ClusterSecret(text, cluster));
const locked = (error: unknown): boolean =>
  isEngineError(error, 'CREDENTIAL_LOCKED') && !error.message.includes(CANARY);

test('a value opens with the secret of its cluster, under its name and version', () => {
  const sealed = safe().seal('db', 3, { value: CANARY });
  assert.deepEqual(safe().open('db', 3, sealed), { value: CANARY });
  assert.throws(() => safe('another secret').open('db', 3, sealed), locked);
  assert.throws(() => safe('one secret', 'another cluster').open('db', 3, sealed), locked);
  assert.throws(() => safe().open('db', 4, sealed), locked);
  assert.throws(() => safe().open('dc', 3, sealed), locked);
  const fields = { type: 'login', fields: { user: 'u', password: CANARY } };
  assert.deepEqual(safe().open('db', 1, safe().seal('db', 1, fields)), fields);
});

test('what is sealed does not show the value, is another text each time, and says its form', () => {
  const [one, two] = [safe().seal('db', 1, { value: CANARY }), safe().seal('db', 1, { value: CANARY })];
  assert.notEqual(one, two);
  assert.ok(!Buffer.from(one, 'base64url').includes(CANARY));
  const bytes = Buffer.from(one, 'base64url');
  assert.equal(bytes[0], 1);
  for (const at of [0, 1, 20, 60, 80, bytes.length - 1]) {
    const changed = Buffer.from(bytes);
    changed[at] = (changed[at] ?? 0) ^ 1;
    assert.throws(() => safe().open('db', 1, changed.toString('base64url')), locked, `byte ${at}`);
  }
  for (const cut of ['', 'AQ', one.slice(0, 90)]) assert.throws(() => safe().open('db', 1, cut), locked);
});

test('under another secret only the wrapping is made anew', () => {
  const [old, next] = [safe('old'), safe('next')];
  const sealed = old.seal('db', 1, { value: CANARY });
  const anew = next.wrapAnew(old, 'db', 1, sealed);
  assert.deepEqual(next.open('db', 1, anew), { value: CANARY });
  assert.throws(() => old.open('db', 1, anew), locked);
  assert.equal(anew.slice(-40), sealed.slice(-40));
  assert.throws(() => next.wrapAnew(safe('a third'), 'db', 1, sealed), locked);
});

test('all nodes have one signer, which outlives the secret where it was sealed anew, and is replaced where it was not', async (t) => {
  const store = await openSqlite({ file: 'memory:', world: new VirtualWorld() });
  t.after(() => store.close());
  const [one, two] = await Promise.all([signerOf(store, safe()), signerOf(store, safe())]);
  assert.equal(one.publicKey, two.publicKey);
  assert.match(one.publicKey, /^[\w-]{43}$/);
  const kept = await store.credentialSigner({});
  const anew = safe('next').wrapAnew(safe(), '@signer', 1, kept?.sealed ?? '');
  await store.credentialReseal({ fingerprint: 'f', values: [], signer: { public: one.publicKey, sealed: anew } });
  assert.equal((await signerOf(store, safe('next'))).publicKey, one.publicKey);
  const other = await signerOf(store, safe('a third'));
  assert.notEqual(other.publicKey, one.publicKey);
  assert.equal((await signerOf(store, safe('a third'))).publicKey, other.publicKey);
});
