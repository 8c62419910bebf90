/** A cluster that seals credentials as a node does, from the text of the agreement alone. */
import {
  createCipheriv,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto';
import type { CredentialValue } from '../../../src/core/credential/value.ts';
import type { Envelope } from '../../../src/protocol/credential-envelope.ts';

export interface SealFor {
  readonly worker: string;
  readonly key: string;
  readonly name: string;
  readonly version: number;
}

export class TestCluster {
  readonly #key: KeyObject;

  /** `pem`: the same cluster in another process. */
  constructor(pem?: string) {
    this.#key = pem === undefined ? generateKeyPairSync('ed25519').privateKey : createPrivateKey(pem);
  }

  get pem(): string {
    return this.#key.export({ format: 'pem', type: 'pkcs8' }).toString();
  }

  get signer(): string {
    return this.#key.export({ format: 'jwk' }).x ?? '';
  }

  seal(to: SealFor, value: CredentialValue): Envelope {
    return this.sealText(to, JSON.stringify(value));
  }

  sealText({ worker, key, name, version }: SealFor, text: string): Envelope {
    const own = generateKeyPairSync('x25519');
    const theirs = createPublicKey({ key: { kty: 'OKP', crv: 'X25519', x: key }, format: 'jwk' });
    const epk = own.publicKey.export({ format: 'jwk' }).x ?? '';
    const salt = Buffer.concat([Buffer.from(epk, 'base64url'), Buffer.from(key, 'base64url')]);
    const shared = diffieHellman({ privateKey: own.privateKey, publicKey: theirs });
    const iv = randomBytes(12);
    const cipher = createCipheriv(
      'aes-256-gcm',
      Buffer.from(hkdfSync('sha256', shared, salt, 'leasehold credential 1', 32)),
      iv,
    );
    cipher.setAAD(Buffer.from(`${worker}|${name}|${version}`));
    const data = Buffer.concat([cipher.update(text), cipher.final(), cipher.getAuthTag()]).toString('base64url');
    return this.signed({ worker, name, version }, { v: 1, epk, iv: iv.toString('base64url'), data });
  }

  signed({ worker, name, version }: Omit<SealFor, 'key'>, { v, epk, iv, data }: Omit<Envelope, 'sig'>): Envelope {
    const text = `leasehold credential 1\n${worker}\n${name}\n${version}\n${epk}\n${iv}\n${data}`;
    return { v, epk, iv, data, sig: sign(null, Buffer.from(text), this.#key).toString('base64url') };
  }
}
