import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { Envelope } from '../../protocol/credential-envelope.ts';
import { newKeys, openEnvelope } from '../../worker/vault/envelope.ts';
import { isExposed } from './exposure.ts';
import { sealEnvelope } from './sealer.ts';

const TO = { worker: 'box', name: 'db', version: 2 } as const;

function cluster() {
  const { privateKey } = generateKeyPairSync('ed25519');
  return { privateKey, publicKey: privateKey.export({ format: 'jwk' }).x ?? '' };
}

test('a worker opens what was sealed to it, and nobody else does', () => {
  const [keys, signer] = [newKeys(), cluster()];
  const value = { type: 'login', fields: { user: 'u', password: 'p'.repeat(60_000) } };
  const envelope = sealEnvelope({ ...TO, key: keys.publicKey }, value, signer);
  assert.deepEqual(Envelope.parse(envelope), envelope);
  assert.deepEqual(openEnvelope(TO, envelope, keys, signer.publicKey), value);
  const open =
    (to: object = {}, by = keys, from = signer.publicKey) =>
    () =>
      openEnvelope({ ...TO, ...to }, envelope, by, from);
  assert.throws(open({}, newKeys()), /not sealed for this key/);
  assert.throws(open({}, keys, cluster().publicKey), /signature is not that of the cluster/);
  for (const other of [{ worker: 'other' }, { name: 'dc' }, { version: 3 }]) assert.throws(open(other), /signature/);
});

test('a key that gives no secret is refused', () => {
  const key = Buffer.alloc(32).toString('base64url');
  assert.throws(() => sealEnvelope({ ...TO, key }, { value: 'v' }, cluster()));
});

test('secrets go over TLS, or stay on this host; what a proxy on this host hands on came from elsewhere', () => {
  const exposed = (
    {
      remoteAddress = '127.0.0.1',
      encrypted = false,
      headers = {},
    }: { remoteAddress?: string; encrypted?: boolean; headers?: object },
    behindProxy = false,
  ): boolean => isExposed({ headers, socket: { remoteAddress, encrypted } } as never, { behindProxy });
  const far = '10.0.0.7';
  const by = (proto: string) => ({ 'x-forwarded-proto': proto });
  assert.equal(exposed({}), false);
  assert.equal(exposed({ remoteAddress: '::ffff:127.0.0.1' }), false);
  assert.equal(exposed({ remoteAddress: far }), true);
  assert.equal(exposed({ remoteAddress: far, encrypted: true }), false);
  for (const header of ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-proto', 'x-real-ip']) {
    assert.equal(exposed({ headers: { [header]: 'x' } }), true, header);
  }
  // Its operator says that TLS ends at the proxy, unless the proxy says that this one came without.
  assert.equal(exposed({ remoteAddress: far }, true), false);
  assert.equal(exposed({ remoteAddress: far, headers: by('https') }, true), false);
  assert.equal(exposed({ remoteAddress: far, headers: by('wss') }, true), false);
  assert.equal(exposed({ remoteAddress: far, headers: by('http') }, true), true);
});
