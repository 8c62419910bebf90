import { createHmac } from 'node:crypto';

/** The header that proves who has sent a request, and when. */
export const SIGNATURE = 'X-Leasehold-Signature';

export interface Signed {
  /** Of the request, where the receiver is to know repeated ones: the same for each of them. */
  readonly id?: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly body: string;
  /** Several while they are exchanged. */
  readonly keys: readonly string[];
}

/**
 * The value of that header: a time in seconds, and for each key an HMAC-SHA256 over `SECONDS.BODY`, or over `ID.SECONDS.BODY`, which
 * triggers of a node take as well. A receiver that keeps the ids of the last minutes refuses what was sent to it before.
 */
export function signatureOf({ id, at, body, keys }: Signed): string {
  const seconds = Math.floor(at / 1000);
  const text = [...(id === undefined ? [] : [id]), seconds, body].join('.');
  return [`t=${seconds}`, ...keys.map((key) => `v1=${createHmac('sha256', key).update(text).digest('hex')}`)].join(',');
}
