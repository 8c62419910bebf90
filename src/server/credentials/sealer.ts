import {
  createCipheriv,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  randomBytes,
  sign,
} from 'node:crypto';
import type { CredentialValue } from '../../core/credential/value.ts';
import type { Signer } from '../../operate/credentials/signer.ts';
import {
  ENVELOPE_PURPOSE,
  type Envelope,
  type EnvelopeAddress,
  envelopeAad,
  envelopeText,
} from '../../protocol/credential-envelope.ts';

const IV_BYTES = 12;
const KEY_BYTES = 32;

/** A value for the holder of one key, under one name and version, signed by the cluster. Each envelope has a key pair of its own. */
export function sealEnvelope(
  to: EnvelopeAddress & { readonly key: string },
  value: CredentialValue,
  { privateKey }: Pick<Signer, 'privateKey'>,
): Envelope {
  const own = generateKeyPairSync('x25519');
  const epk = own.publicKey.export({ format: 'jwk' }).x ?? '';
  const theirs = createPublicKey({ key: { kty: 'OKP', crv: 'X25519', x: to.key }, format: 'jwk' });
  // A point of low order gives no secret: the exchange itself refuses it.
  const secret = diffieHellman({ privateKey: own.privateKey, publicKey: theirs });
  const salt = Buffer.concat([Buffer.from(epk, 'base64url'), Buffer.from(to.key, 'base64url')]);
  const iv = randomBytes(IV_BYTES);
  const key = Buffer.from(hkdfSync('sha256', secret, salt, ENVELOPE_PURPOSE, KEY_BYTES));
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(envelopeAad(to)));
  const data = Buffer.concat([cipher.update(JSON.stringify(value)), cipher.final(), cipher.getAuthTag()]);
  const sealed = { v: 1, epk, iv: iv.toString('base64url'), data: data.toString('base64url') } as const;
  return { ...sealed, sig: sign(null, Buffer.from(envelopeText(to, sealed)), privateKey).toString('base64url') };
}
