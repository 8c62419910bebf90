import assert from 'node:assert/strict';
import { generateKeyPairSync, sign } from 'node:crypto';
import { test } from 'node:test';
import { isSignedBy, newReleaseKey, signManifest } from './release-key.ts';

const ONE = newReleaseKey();
const OTHER = newReleaseKey();

test('a signature is good under its key, for its text, and for nothing else', () => {
  const envelope = signManifest('{"version":"0.2.0"}', ONE.pem);
  assert.equal(envelope.key, ONE.key);
  assert.equal(isSignedBy(envelope, [ONE.key]), true);
  assert.equal(isSignedBy(envelope, [OTHER.key, ONE.key]), true);
  assert.equal(isSignedBy(envelope, [OTHER.key]), false);
  assert.equal(isSignedBy(envelope, []), false);
  assert.equal(isSignedBy({ ...envelope, signed: '{"version":"0.3.0"}' }, [ONE.key]), false);
  assert.equal(isSignedBy({ signed: envelope.signed }, [ONE.key]), false);
});

test('the key that an envelope names is not believed', () => {
  const envelope = signManifest('x', OTHER.pem);
  assert.equal(isSignedBy({ ...envelope, key: ONE.key }, [ONE.key]), false);
});

test('a signature that was made for something else is no signature of a release', () => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const { x } = publicKey.export({ format: 'jwk' });
  const signature = sign(null, Buffer.from('x'), privateKey).toString('base64url');
  assert.equal(isSignedBy({ signed: 'x', key: `ed25519:${x}`, signature }, [`ed25519:${x}`]), false);
});

test('what is no key signs nothing, and is not quoted', () => {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs8', format: 'pem' });
  for (const pem of ['secret words', rsa as string]) {
    assert.throws(
      () => signManifest('x', pem),
      (error: Error) => !error.message.includes('secret words') && /not an Ed25519/.test(error.message),
    );
  }
  assert.throws(() => isSignedBy(signManifest('x', ONE.pem), ['ed25519:short']), { code: 'INVALID_INPUT' });
});
