import { createHmac } from 'node:crypto';

export interface Signed {
  /** The same for a request that is repeated. */
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly body: string;
  /** One key, or several with spaces between them while they are exchanged. */
  readonly secret: string;
}

/**
 * The headers that prove who has sent the body, and when: an HMAC-SHA256 over `ID.SECONDS.BODY`, which triggers of a node take as well. A
 * receiver that keeps the ids of the last minutes refuses what was sent to it before.
 */
export function signatureOf({ id, at, body, secret }: Signed): Readonly<Record<string, string>> {
  const seconds = Math.floor(at / 1000);
  const keys = secret.split(/\s+/).filter((key) => key !== '');
  const signatures = keys.map((key) => createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('hex'));
  return {
    'X-Leasehold-Id': id,
    'X-Leasehold-Signature': [`t=${seconds}`, ...signatures.map((signature) => `v1=${signature}`)].join(','),
  };
}
