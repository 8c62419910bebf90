import { gunzipSync, gzipSync } from 'node:zlib';
import { fault } from '../../core/errors.ts';
import { isReleaseVersion } from '../../core/release/release-version.ts';

/** The files of a release: texts by their paths. */
export interface Bundle {
  readonly version: string;
  readonly files: Readonly<Record<string, string>>;
}

const FORMAT = 1;
/** Unpacked. A bundle is about six megabytes. */
const MAX_UNPACKED = 256 * 1024 * 1024;
const MOST_FILES = 5000;
/** Every part begins with a letter, a digit or a sign that leads nowhere: no way up, no hidden file, no root. */
const PATH = /^[\w@][\w@.+-]*(?:\/[\w@][\w@.+-]*)*$/;
const MAX_PATH = 200;
/** Without it, there is nothing to start. */
export const STARTS = 'bin/leasehold.js';

/** One compressed text: it has no links, no owners, no modes, and no way out of its folder. */
export function packBundle({ version, files }: Bundle): Buffer {
  const sorted = Object.fromEntries(Object.entries(files).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  return gzipSync(JSON.stringify({ format: FORMAT, version, files: sorted }), { level: 9 });
}

export function unpackBundle(bytes: Uint8Array): Bundle {
  const given = contentOf(bytes);
  const { format, version, files } = given;
  if (format !== FORMAT) throw refuse('it has another format than this program reads');
  if (!isReleaseVersion(version)) throw refuse('it names no version');
  if (typeof files !== 'object' || files === null || Array.isArray(files)) throw refuse('it has no files');
  const entries = Object.entries(files as Record<string, unknown>);
  if (entries.length > MOST_FILES) throw refuse('it has too many files');
  for (const [path, text] of entries) {
    if (path.length > MAX_PATH || !PATH.test(path))
      throw refuse(`it has a file with the path ${JSON.stringify(path.slice(0, 60))}`);
    if (typeof text !== 'string') throw refuse('it has a file that is no text');
  }
  if (!entries.some(([path]) => path === STARTS)) throw refuse(`it has no ${STARTS}`);
  return { version, files: files as Record<string, string> };
}

function contentOf(bytes: Uint8Array): Record<string, unknown> {
  let content: unknown;
  try {
    content = JSON.parse(gunzipSync(bytes, { maxOutputLength: MAX_UNPACKED }).toString());
  } catch {
    throw refuse('it cannot be unpacked');
  }
  if (typeof content !== 'object' || content === null) throw refuse('it is not a bundle');
  return content as Record<string, unknown>;
}

function refuse(problem: string): Error {
  return fault('INVALID_INPUT', { field: 'bundle', problem });
}
