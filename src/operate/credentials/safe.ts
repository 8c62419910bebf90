import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { type CredentialValue, readValue } from '../../core/credential/value.ts';
import { fault } from '../../core/errors.ts';
import type { ClusterSecret } from '../cluster-secret.ts';

/** The first byte of what is sealed, so that another form can come beside this one. */
const FORM = 1;
const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const WRAPPED_BYTES = IV_BYTES + KEY_BYTES + TAG_BYTES;

/**
 * Values of credentials as a store keeps them: `FORM | wrapped key | sealed value`, each part AES-256-GCM with its nonce before and its tag
 * behind. A value has a key of its own, which is wrapped by a key of the secret of the cluster: under another secret the wrapping alone is
 * made anew. Name and version are authenticated in both parts, so that no value can stand in for another one.
 */
export class CredentialSafe {
  readonly #root: KeyObject;

  constructor(secret: Pick<ClusterSecret, 'key'>) {
    this.#root = secret.key('credentials');
  }

  seal(name: string, version: number, value: CredentialValue): string {
    return this.sealText(name, version, JSON.stringify(value));
  }

  /** Refused with `CREDENTIAL_LOCKED` if it was sealed under another secret, or for another name or version. */
  open(name: string, version: number, sealed: string): CredentialValue {
    return readValue(this.openText(name, version, sealed));
  }

  sealText(name: string, version: number, text: string): string {
    const key = randomBytes(KEY_BYTES);
    const parts = [
      Buffer.of(FORM),
      encrypted(this.#root, aadOf('key', name, version), key),
      encrypted(createSecretKey(key), aadOf('value', name, version), Buffer.from(text)),
    ];
    key.fill(0);
    return Buffer.concat(parts).toString('base64url');
  }

  openText(name: string, version: number, sealed: string): string {
    const { key, rest } = this.#unwrapped(name, version, sealed);
    return locked(name, () => decrypted(createSecretKey(key), aadOf('value', name, version), rest).toString());
  }

  /** What another safe has sealed, under this one. The value itself is not opened. */
  wrapAnew(from: CredentialSafe, name: string, version: number, sealed: string): string {
    const { key, rest } = from.#unwrapped(name, version, sealed);
    const wrapped = encrypted(this.#root, aadOf('key', name, version), key);
    key.fill(0);
    return Buffer.concat([Buffer.of(FORM), wrapped, rest]).toString('base64url');
  }

  #unwrapped(name: string, version: number, sealed: string): { readonly key: Buffer; readonly rest: Buffer } {
    const bytes = Buffer.from(sealed, 'base64url');
    return locked(name, () => {
      if (bytes[0] !== FORM) throw new Error('that is another form');
      const rest = bytes.subarray(1 + WRAPPED_BYTES);
      return { key: decrypted(this.#root, aadOf('key', name, version), bytes.subarray(1, 1 + WRAPPED_BYTES)), rest };
    });
  }
}

/** Names have no such sign in them. */
function aadOf(part: 'key' | 'value', name: string, version: number): Buffer {
  return Buffer.from(`leasehold credential ${part} ${FORM}|${name}|${version}`);
}

function encrypted(key: KeyObject, aad: Buffer, plain: Buffer): Buffer {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES }).setAAD(aad);
  return Buffer.concat([iv, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

function decrypted(key: KeyObject, aad: Buffer, sealed: Buffer): Buffer {
  const iv = sealed.subarray(0, IV_BYTES);
  const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES });
  decipher.setAAD(aad).setAuthTag(sealed.subarray(-TAG_BYTES));
  return Buffer.concat([decipher.update(sealed.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]);
}

function locked<T>(name: string, open: () => T): T {
  try {
    return open();
  } catch {
    throw fault('CREDENTIAL_LOCKED', { name });
  }
}
