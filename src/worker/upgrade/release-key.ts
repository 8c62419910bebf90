import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto';
import { fault } from '../../core/errors.ts';
import { isReleaseKey, type SignedManifest, textToSign } from '../../core/release/manifest.ts';

/** A new key pair: the private one as PEM, the public one as the word that is pinned. */
export function newReleaseKey(): { readonly pem: string; readonly key: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const { x } = publicKey.export({ format: 'jwk' });
  return { pem: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string, key: `ed25519:${x}` };
}

export function signManifest(signed: string, pem: string): SignedManifest {
  const privateKey = privateKeyIn(pem);
  const { x } = createPublicKey(privateKey).export({ format: 'jwk' });
  const signature = sign(null, Buffer.from(textToSign(signed)), privateKey).toString('base64url');
  return { signed, key: `ed25519:${x}`, signature };
}

function privateKeyIn(pem: string): ReturnType<typeof createPrivateKey> {
  try {
    const found = createPrivateKey(pem);
    if (found.asymmetricKeyType === 'ed25519') return found;
  } catch {
    // What the file says stays out of the message: it may be a key after all.
  }
  throw fault('INVALID_INPUT', { field: 'release key', problem: 'it is not an Ed25519 private key in PEM' });
}

/** Whether one of the pinned keys has signed it. */
export function isSignedBy({ signed, signature }: SignedManifest, keys: readonly string[]): boolean {
  if (signature === undefined) return false;
  return keys.some((key) =>
    verify(null, Buffer.from(textToSign(signed)), publicKeyOf(key), Buffer.from(signature, 'base64url')),
  );
}

function publicKeyOf(key: string): ReturnType<typeof createPublicKey> {
  if (!isReleaseKey(key))
    throw fault('INVALID_INPUT', { field: 'release key', problem: 'it is not of the form ed25519:…' });
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: key.slice('ed25519:'.length) }, format: 'jwk' });
}

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
