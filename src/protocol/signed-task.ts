import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { fault } from '../core/errors.ts';

/**
 * A signed task. Its payload is an object that holds the signature, and the payload of the handler as a text, byte for byte: a store or a node
 * that writes JSON anew changes no signature. A task that is not signed costs nothing.
 */
export interface SignedTask {
  /** Whose signature it is: the id of a key. */
  readonly key: string;
  readonly sig: string;
  /** Calendar time: it is not run later. */
  readonly notAfter?: number | undefined;
  /** What the handler gets, as JSON text. */
  readonly payload: string;
}

/** What a signature speaks for. */
export interface Signable {
  readonly queue: string;
  readonly handler: string;
  readonly payload: string;
}

/** It comes first in the payload, so that it costs nothing to see that another payload is none. */
const MARK = '$signed';
const OPENING = `{"${MARK}":`;
const VERSION = 1;
const SIGNATURE_BYTES = 64;

/** A key that signs. */
export interface SigningKey {
  readonly id: string;
  readonly key: KeyObject;
}

/** The input to push in the place of the own one. */
export function signTask(task: Signable, { id, key }: SigningKey, notAfter?: number): unknown {
  const sig = sign(null, signedBytes(task, id, notAfter), key).toString('base64url');
  const { payload } = task;
  return { [MARK]: { v: VERSION, key: id, sig, ...(notAfter === undefined ? {} : { notAfter }) }, payload };
}

/** Undefined: this is the payload of a task that is not signed. */
export function openSigned(payload: string): SignedTask | undefined {
  if (!payload.startsWith(OPENING)) return undefined;
  const { [MARK]: head, payload: inner, ...more } = objectIn(payload);
  const { v, key, sig, notAfter } = (head ?? {}) as Readonly<Record<string, unknown>>;
  const isOurs = v === VERSION && typeof key === 'string' && typeof sig === 'string' && typeof inner === 'string';
  if (!isOurs || Object.keys(more).length > 0) return undefined;
  return { key, sig, payload: inner, ...(notAfter === undefined ? {} : { notAfter: notAfter as number }) };
}

/** A node may say anything: what is no JSON is for the handler to refuse. */
function objectIn(payload: string): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(payload) as Readonly<Record<string, unknown>>;
  } catch {
    return {};
  }
}

/** Whether this key has signed exactly this task. It does not look at the time. */
export function isSignedBy(task: Omit<Signable, 'payload'>, signed: SignedTask, key: KeyObject): boolean {
  const sig = Buffer.from(signed.sig, 'base64url');
  if (sig.length !== SIGNATURE_BYTES) return false;
  return verify(null, signedBytes({ ...task, payload: signed.payload }, signed.key, signed.notAfter), key, sig);
}

/** A list as JSON: no part can be taken for the end of another. Its first word keeps a signature from being one of something else. */
function signedBytes({ queue, handler, payload }: Signable, key: string, notAfter: number | undefined): Buffer {
  return Buffer.from(JSON.stringify(['leasehold task', VERSION, key, queue, handler, notAfter ?? null, payload]));
}

/** The id of a key is a hash of it: nobody can give one the id of another. */
export function keyIdOf(key: KeyObject): string {
  const der = key.export({ type: 'spki', format: 'der' });
  return createHash('sha256').update(der).digest('hex').slice(0, 16);
}

/** Reads a key that signs, in PEM. */
export function readSigningKey(file: string, text: string): SigningKey {
  const key = asKey(file, () => createPrivateKey(text));
  return { id: keyIdOf(createPublicKey(key)), key };
}

/**
 * Keys that are trusted, by their ids: one or more public keys in PEM, with any text between them. Refuses a file with a key that signs: that
 * has no business on a worker.
 */
export function readTrustedKeys(file: string, text: string): ReadonlyMap<string, KeyObject> {
  if (text.includes('PRIVATE KEY')) throw refuse(file, 'it has a key that signs; a worker needs the public one');
  const found = text.match(/-----BEGIN PUBLIC KEY-----[^-]+-----END PUBLIC KEY-----/g) ?? [];
  if (found.length === 0) throw refuse(file, 'it has no public key');
  return new Map(found.map((pem) => asKey(file, () => createPublicKey(pem))).map((key) => [keyIdOf(key), key]));
}

function asKey(file: string, read: () => KeyObject): KeyObject {
  let key: KeyObject;
  try {
    key = read();
  } catch (error) {
    throw refuse(file, `it has no key that can be read: ${(error as Error).message}`);
  }
  if (key.asymmetricKeyType === 'ed25519') return key;
  throw refuse(file, `its key is of the type ${key.asymmetricKeyType}, and not ed25519`);
}

const refuse = (field: string, problem: string): Error => fault('INVALID_INPUT', { field, problem });
