import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fault } from '../core/errors.ts';
import { newSecret } from '../operate/secrets.ts';
import { makeDataFolder } from './data/data-folder.ts';
import { writeOnce } from './data/private-file.ts';

const FILE = 'token';
const MIN_LENGTH = 20;
/** The server reads no more than this from a header. */
const MAX_LENGTH = 512;

/** Where a node keeps its admin token. */
export function adminTokenFile(dataDir: string): string {
  return join(dataDir, FILE);
}

/**
 * The admin token: the given one, or the one in the data directory, which is made at the first start. Only the user that
 * runs the node may read it.
 */
export function adminToken(dataDir: string, given: string | undefined): string {
  if (given !== undefined) return checked(given, 'token');
  const file = adminTokenFile(dataDir);
  const found = readToken(file);
  if (found !== undefined) return found;
  makeDataFolder(dataDir);
  writeOnce(file, newSecret('admin'));
  return readToken(file) ?? checked('', file);
}

export function readToken(file: string): string | undefined {
  try {
    return checked(readFileSync(file, 'utf8').trim(), file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function checked(token: string, where: string): string {
  if (token.length >= MIN_LENGTH && token.length <= MAX_LENGTH && /^[\x21-\x7e]+$/.test(token)) return token;
  throw fault(
    'INVALID_INPUT',
    { field: where, problem: `a token has ${MIN_LENGTH} to ${MAX_LENGTH} letters, digits or signs and no space` },
    { hint: 'Remove the file, and the node makes a good one; or give one with LEASEHOLD_TOKEN.' },
  );
}
