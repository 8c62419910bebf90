import { fault } from '../errors.ts';
import { parseRange } from '../placement/version.ts';
import { isProtocolRange, type ProtocolRange } from './link-protocol.ts';
import { isReleaseVersion } from './release-version.ts';

/** What a release of the worker says of itself. */
export interface Manifest {
  readonly version: string;
  /** The versions of the protocol that its worker speaks. */
  readonly protocol: ProtocolRange;
  /** The versions of Node that it runs on: `>=24`. */
  readonly node: string;
  /** Of the bundle, in hexadecimal. */
  readonly sha256: string;
  /** Of the bundle, in bytes. */
  readonly size: number;
  /** Calendar time. */
  readonly created: number;
  /** From then on nobody takes it: a node that is made to keep showing an old release is found out. */
  readonly expires: number;
  /** No older release than this one is taken after it. */
  readonly minVersion: string;
}

/** As it is kept and sent. What is signed is a text, so that nobody has to agree on how JSON is written. */
export interface SignedManifest {
  readonly signed: string;
  /** The public key, `ed25519:…`; it only says which key to try. Without one the release is unsigned. */
  readonly key?: string;
  /** Base64url. */
  readonly signature?: string;
}

/** A bundle of the worker is about a megabyte. */
export const MAX_BUNDLE_BYTES = 64 * 1024 * 1024;
/** As it is sent, with its signature. */
export const MAX_MANIFEST_BYTES = 16 * 1024;

const KEY = /^ed25519:[\w-]{43}$/;
const SIGNATURE = /^[\w-]{86}$/;
const FIELDS = ['version', 'protocol', 'node', 'sha256', 'size', 'created', 'expires', 'minVersion'];

/** A signature of this text is good for nothing else. */
export function textToSign(signed: string): string {
  return `leasehold release v1\n${signed}`;
}

export function isReleaseKey(text: unknown): text is string {
  return typeof text === 'string' && KEY.test(text);
}

/** The envelope. Who made it is not known before its signature was checked. */
export function readSigned(text: string): SignedManifest {
  const { signed, key, signature, ...rest } = objectIn(text);
  const isWhole = typeof signed === 'string' && signed.length <= MAX_MANIFEST_BYTES && Object.keys(rest).length === 0;
  if (!isWhole) throw refuse('it is not the manifest of a release');
  if (key === undefined && signature === undefined) return { signed };
  if (isReleaseKey(key) && typeof signature === 'string' && SIGNATURE.test(signature))
    return { signed, key, signature };
  throw refuse('its signature does not have the form of one');
}

/** What was signed. A field that is not known is refused: it may say what this program must not overlook. */
export function readManifest(signed: string): Manifest {
  const given = objectIn(signed);
  const unknown = Object.keys(given).find((field) => !FIELDS.includes(field));
  if (unknown !== undefined) throw refuse(`it has a field that is not known, ${JSON.stringify(unknown.slice(0, 40))}`);
  const { version, protocol, node, sha256, size, created, expires, minVersion } = given;
  if (!isReleaseVersion(version) || !isReleaseVersion(minVersion)) throw refuse('it names no version');
  if (!isProtocolRange(protocol)) throw refuse('it names no versions of the protocol');
  if (typeof sha256 !== 'string' || !/^[0-9a-f]{64}$/.test(sha256)) throw refuse('it names no hash');
  if (!isCount(size) || size === 0 || size > MAX_BUNDLE_BYTES) throw refuse('it names no size');
  if (!isCount(created) || !isCount(expires)) throw refuse('it names no times');
  if (typeof node !== 'string') throw refuse('it names no versions of Node');
  parseRange('manifest', node);
  return { version, protocol, node, sha256, size, created, expires, minVersion };
}

function objectIn(text: string): Record<string, unknown> {
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch {
    throw refuse('it is not JSON');
  }
  if (typeof given !== 'object' || given === null || Array.isArray(given)) throw refuse('it is not an object');
  return given as Record<string, unknown>;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function refuse(problem: string): Error {
  return fault('INVALID_INPUT', { field: 'manifest', problem });
}
