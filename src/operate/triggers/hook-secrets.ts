import { createCipheriv, createDecipheriv, createHmac, createSecretKey, randomBytes } from 'node:crypto';
import { fault } from '../../core/errors.ts';
import type { SecretSource } from '../../core/trigger/trigger.ts';
import type { ClusterSecret } from '../cluster-secret.ts';

/** How the secret of a webhook is stored: never so that a reader of the store can sign. */
export interface KeptSecret {
  readonly kept: SecretSource;
  /** Undefined: it is told nowhere. */
  readonly told: string | undefined;
}

const NONCE_BYTES = 18;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const MADE = 'made:';
const MOST_SECRET = 500;

/**
 * Secrets of webhooks. One that the node makes follows from the secret of the cluster and a nonce, which alone is stored. One that a sender
 * has chosen is sealed under the secret of the cluster. One in a variable of the nodes is stored by the name of that.
 */
export class HookSecrets {
  readonly #secret: ClusterSecret;
  readonly #variables: Readonly<Record<string, string | undefined>>;

  constructor(secret: ClusterSecret, variables: Readonly<Record<string, string | undefined>>) {
    this.#secret = secret;
    this.#variables = variables;
  }

  make(name: string): KeptSecret {
    const sealed = `${MADE}${randomBytes(NONCE_BYTES).toString('base64url')}`;
    return { kept: { sealed }, told: this.#derive(name, sealed) };
  }

  /** A secret that its sender has chosen. It opens under the name of its trigger alone. */
  seal(name: string, text: string): SecretSource {
    if (text.length < 16 || text.length > MOST_SECRET) {
      throw fault('INVALID_INPUT', { field: 'secret.value', problem: `it has from 16 to ${MOST_SECRET} characters` });
    }
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#key('seal'), iv).setAAD(Buffer.from(name));
    const sealed = Buffer.concat([iv, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
    return { sealed: sealed.toString('base64url') };
  }

  /** Undefined: this node does not have it, and nothing signed with it is taken here. */
  read(name: string, kept: SecretSource | undefined): string | undefined {
    if (kept === undefined) return undefined;
    if ('env' in kept) {
      const value = this.#variables[kept.env];
      return value === undefined || value.length < 16 ? undefined : value;
    }
    return kept.sealed.startsWith(MADE) ? this.#derive(name, kept.sealed) : this.#open(name, kept.sealed);
  }

  #derive(name: string, nonce: string): string {
    const bits = createHmac('sha256', this.#key('make')).update(`${name}\u0000${nonce}`).digest('base64url');
    return `lh_hook_${bits}`;
  }

  #open(name: string, sealed: string): string | undefined {
    const bytes = Buffer.from(sealed, 'base64url');
    if (bytes.length < IV_BYTES + TAG_BYTES) return undefined;
    try {
      const decipher = createDecipheriv('aes-256-gcm', this.#key('seal'), bytes.subarray(0, IV_BYTES))
        .setAAD(Buffer.from(name))
        .setAuthTag(bytes.subarray(-TAG_BYTES));
      return decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
    } catch {
      // Sealed under another secret of the cluster, or for another trigger.
      return undefined;
    }
  }

  #key(use: 'make' | 'seal') {
    const root = this.#secret.key('webhooks');
    return createSecretKey(createHmac('sha256', root).update(use).digest());
  }
}

/** For people: where a secret is, and never what it is. */
export function placeOfSecret(kept: SecretSource | undefined): 'made' | 'variable' | 'sealed' | undefined {
  if (kept === undefined) return undefined;
  if ('env' in kept) return 'variable';
  return kept.sealed.startsWith(MADE) ? 'made' : 'sealed';
}
