import { createHmac } from 'node:crypto';

export interface Signed {
  /** The same for a request that is repeated. */
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly body: string;
  /** One key, or several with spaces between them while they are exchanged; `whsec_…` is base64. */
  readonly secret: string;
}

/**
 * The headers of Standard Webhooks, for which there are libraries in most languages: they prove who has sent the body, and when. A receiver
 * that keeps the ids of the last minutes refuses what was sent to it before.
 */
export function signatureOf({ id, at, body, secret }: Signed): Readonly<Record<string, string>> {
  const seconds = Math.floor(at / 1000);
  const keys = secret.split(/\s+/).filter((key) => key !== '');
  const signatures = keys.map((key) => {
    const hmac = createHmac('sha256', keyOf(key)).update(`${id}.${seconds}.${body}`);
    return `v1,${hmac.digest('base64')}`;
  });
  return { 'webhook-id': id, 'webhook-timestamp': String(seconds), 'webhook-signature': signatures.join(' ') };
}

function keyOf(key: string): Buffer {
  return key.startsWith('whsec_') ? Buffer.from(key.slice('whsec_'.length), 'base64') : Buffer.from(key);
}
