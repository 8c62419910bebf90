import {
  createDecipheriv,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
  verify,
} from 'node:crypto';
import { type CredentialValue, readValue } from '../../core/credential/value.ts';
import { fault } from '../../core/errors.ts';
import {
  ENVELOPE_PURPOSE,
  Envelope,
  type EnvelopeAddress,
  envelopeAad,
  envelopeText,
} from '../../protocol/credential-envelope.ts';

const TAG_BYTES = 16;

/** The key pair that values are sealed to. */
export interface WorkerKeys {
  /** Raw, base64url. */
  readonly publicKey: string;
  readonly privateKey: KeyObject;
}

interface KeyText {
  readonly x: string;
  readonly d: string;
}

export function newKeys(): WorkerKeys {
  return keysFrom(keyTextOf(generateKeyPairSync('x25519').privateKey));
}

/** The pair as texts, to be kept under lock. */
export function keyTextOf(privateKey: KeyObject): KeyText {
  const { x = '', d = '' } = privateKey.export({ format: 'jwk' });
  return { x, d };
}

export function keysFrom({ x, d }: KeyText): WorkerKeys {
  return { publicKey: x, privateKey: createPrivateKey({ key: { kty: 'OKP', crv: 'X25519', x, d }, format: 'jwk' }) };
}

/**
 * The value in an envelope. The signature comes first: nothing of a text that the cluster has not signed is given to a cipher or a parser.
 * Before it only the bounds are checked.
 */
export function openEnvelope(to: EnvelopeAddress, given: unknown, keys: WorkerKeys, signer: string): CredentialValue {
  const found = Envelope.safeParse(given);
  if (!found.success) throw refuse('it is no envelope of a form that this version knows');
  const envelope = found.data;
  if (!isSigned(to, envelope, signer)) throw refuse('its signature is not that of the cluster');
  let text: string;
  try {
    text = decrypted(to, envelope, keys);
  } catch {
    throw refuse('it was not sealed for this key, or not under this name and version');
  }
  return readValue(text);
}

function isSigned(to: EnvelopeAddress, envelope: Envelope, signer: string): boolean {
  try {
    const key = publicKeyOf('Ed25519', signer);
    return verify(null, Buffer.from(envelopeText(to, envelope)), key, Buffer.from(envelope.sig, 'base64url'));
  } catch {
    return false;
  }
}

/** A point of low order gives no secret: the exchange itself refuses it. */
function decrypted(to: EnvelopeAddress, { epk, iv, data }: Envelope, { publicKey, privateKey }: WorkerKeys): string {
  const secret = diffieHellman({ privateKey, publicKey: publicKeyOf('X25519', epk) });
  const salt = Buffer.concat([Buffer.from(epk, 'base64url'), Buffer.from(publicKey, 'base64url')]);
  const key = Buffer.from(hkdfSync('sha256', secret, salt, ENVELOPE_PURPOSE, 32));
  const sealed = Buffer.from(data, 'base64url');
  const cipher = createDecipheriv('aes-256-gcm', key, Buffer.from(iv, 'base64url'), { authTagLength: TAG_BYTES });
  cipher.setAAD(Buffer.from(envelopeAad(to)));
  cipher.setAuthTag(sealed.subarray(-TAG_BYTES));
  return Buffer.concat([cipher.update(sealed.subarray(0, -TAG_BYTES)), cipher.final()]).toString();
}

function publicKeyOf(crv: 'X25519' | 'Ed25519', x: string): KeyObject {
  return createPublicKey({ key: { kty: 'OKP', crv, x }, format: 'jwk' });
}

function refuse(problem: string): Error {
  return fault('INVALID_INPUT', { field: 'credential', problem });
}
