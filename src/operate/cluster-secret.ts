import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';

/** What keys are derived for. Two purposes never share a key. */
export type KeyPurpose = 'worker sessions' | 'leases' | 'admin token' | 'webhooks' | 'credentials' | 'transfers';

const KEY_BYTES = 32;
const FINGERPRINT_BYTES = 16;

/**
 * The secret that the nodes of a cluster share. It never lies in the store: who reads a store, or a backup of one, can sign
 * nothing. Every key comes from it by HKDF, one for each purpose, with the key of the cluster as salt: two stores that have
 * the same secret have different keys.
 */
export class ClusterSecret {
  readonly #root: KeyObject;
  readonly #clusterKey: string;

  constructor(text: string, clusterKey: string) {
    this.#root = createSecretKey(Buffer.from(text));
    this.#clusterKey = clusterKey;
  }

  /** What the store may know, to tell a node that it has another secret. */
  get fingerprint(): string {
    return this.#derive('fingerprint', FINGERPRINT_BYTES).toString('hex');
  }

  key(purpose: KeyPurpose): KeyObject {
    return createSecretKey(this.#derive(purpose, KEY_BYTES));
  }

  #derive(purpose: string, bytes: number): Buffer {
    return Buffer.from(hkdfSync('sha256', this.#root, this.#clusterKey, `leasehold: ${purpose}`, bytes));
  }
}
