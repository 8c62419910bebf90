import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { isEngineError } from '../../core/errors.ts';
import type { Engine } from '../../engine/engine.ts';
import type { CredentialSafe } from './safe.ts';

/** The key pair by which a cluster signs what it gives to workers. */
export interface Signer {
  /** Raw, base64url: workers believe it from the first time on. */
  readonly publicKey: string;
  readonly privateKey: KeyObject;
}

/** No credential has such a name. */
export const SIGNER_NAME = '@signer';
export const SIGNER_VERSION = 1;

type SignerStore = Pick<Engine['store'], 'credentialSigner'>;

/**
 * The signer of the cluster; the first node that needs it makes it. It is random and sealed, and does not follow from the secret of the
 * cluster: workers hold on to the one that they met first, and that must outlive the secret. One that cannot be opened any more is replaced.
 */
export async function signerOf(store: SignerStore, safe: CredentialSafe): Promise<Signer> {
  const kept = await store.credentialSigner({});
  const known = kept && opened(safe, kept.sealed);
  if (known !== undefined) return known;
  const made = generateKeyPairSync('ed25519').privateKey;
  const text = made.export({ format: 'pem', type: 'pkcs8' }).toString();
  const signer = { public: publicOf(made), sealed: safe.sealText(SIGNER_NAME, SIGNER_VERSION, text) };
  // Another node may have been quicker.
  const stored = await store.credentialSigner({ signer, ...(kept === undefined ? {} : { instead: kept.sealed }) });
  const stands = stored && opened(safe, stored.sealed);
  if (stands === undefined) throw new Error('the signing key of the cluster cannot be opened');
  return stands;
}

function opened(safe: CredentialSafe, sealed: string): Signer | undefined {
  try {
    const privateKey = createPrivateKey(safe.openText(SIGNER_NAME, SIGNER_VERSION, sealed));
    return { privateKey, publicKey: publicOf(privateKey) };
  } catch (error) {
    if (isEngineError(error, 'CREDENTIAL_LOCKED')) return undefined;
    throw error;
  }
}

function publicOf(privateKey: KeyObject): string {
  return createPublicKey(privateKey).export({ format: 'jwk' }).x ?? '';
}
