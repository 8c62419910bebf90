import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fault } from '../../core/errors.ts';
import { LINK_PROTOCOL } from '../../core/release/link-protocol.ts';
import { MAX_BUNDLE_BYTES, type Manifest, readManifest, readSigned } from '../../core/release/manifest.ts';
import { unpackBundle } from '../../worker/upgrade/bundle-file.ts';
import { replaceFile } from '../../worker/upgrade/install-folder.ts';
import { isSignedBy, newReleaseKey, sha256, signManifest } from '../../worker/upgrade/release-key.ts';
import { BUNDLE_FILE, MANIFEST_FILE } from './release-folder.ts';

const DAY = 24 * 3_600_000;
/** Long enough for a release to be installed, short enough that nobody is held on an old one for a year. */
export const DEFAULT_RELEASE_MS = 90 * DAY;
/** Every release so far may be gone from. */
const FIRST = '0.1.0';
const NODE = '>=24';

export interface SignedRelease {
  readonly version: string;
  readonly key: string | undefined;
  readonly expires: number;
  readonly sha256: string;
}

/** Writes a new private key into a file that was not there, for its owner alone; answers the public one. */
export function writeReleaseKey(file: string): string {
  const { pem, key } = newReleaseKey();
  try {
    writeFileSync(file, pem, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EEXIST')
      throw fault('INVALID_INPUT', { field: 'FILE', problem: `${file} cannot be written (${code})` });
    throw fault(
      'CONFLICT',
      { problem: `there is a file ${file} already` },
      { hint: 'A key that was used is not replaced.' },
    );
  }
  return key;
}

/** Describes the bundle in a folder, and signs that; without a key it says that it is unsigned. */
export function signRelease(
  folder: string,
  options: {
    readonly keyFile: string | undefined;
    /** Calendar time. */
    readonly now: number;
    readonly validMs?: number | undefined;
    readonly minVersion?: string | undefined;
  },
): SignedRelease {
  const { keyFile, now, validMs = DEFAULT_RELEASE_MS } = options;
  const bytes = readBundle(folder);
  const { version } = unpackBundle(bytes);
  const manifest: Manifest = {
    version,
    protocol: LINK_PROTOCOL,
    node: NODE,
    sha256: sha256(bytes),
    size: bytes.length,
    created: now,
    expires: now + validMs,
    minVersion: options.minVersion ?? FIRST,
  };
  const signed = JSON.stringify(readManifest(JSON.stringify(manifest)));
  const envelope = keyFile === undefined ? { signed } : signManifest(signed, readKey(keyFile));
  replaceFile(join(folder, MANIFEST_FILE), `${JSON.stringify(envelope)}\n`, 0o644);
  return { version, key: envelope.key, expires: manifest.expires, sha256: manifest.sha256 };
}

/** Everything that an updater would check, except what it knows of itself. */
export function verifyRelease(folder: string, keys: readonly string[], now: number): SignedRelease {
  const envelope = readSigned(readManifestFile(join(folder, MANIFEST_FILE)));
  if (!isSignedBy(envelope, keys)) throw refuse('it is not signed by this key');
  const { version, expires, sha256: hash, size } = readManifest(envelope.signed);
  const bytes = readBundle(folder);
  if (bytes.length !== size || sha256(bytes) !== hash) throw refuse('its bundle is not the one that was signed');
  if (unpackBundle(bytes).version !== version) throw refuse('its bundle is another release');
  if (now >= expires) throw refuse('it has expired; sign it again');
  return { version, key: envelope.key, expires, sha256: hash };
}

function readManifestFile(file: string): string {
  if (!existsSync(file)) throw fault('NOT_FOUND', { kind: 'file', id: file });
  return readFileSync(file, 'utf8');
}

function readBundle(folder: string): Buffer {
  const file = join(folder, BUNDLE_FILE);
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined) throw fault('NOT_FOUND', { kind: 'file', id: file });
  if (found.size > MAX_BUNDLE_BYTES) throw fault('TOO_LARGE', { field: 'bundle', maxBytes: MAX_BUNDLE_BYTES });
  return readFileSync(file);
}

function readKey(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const problem = `the file ${file} cannot be read (${(error as NodeJS.ErrnoException).code})`;
    throw fault('INVALID_INPUT', { field: 'release key', problem });
  }
}

function refuse(problem: string): Error {
  return fault('INVALID_INPUT', { field: 'release', problem });
}
