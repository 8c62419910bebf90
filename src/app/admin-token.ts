import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fault } from '../core/errors.ts';
import { newSecret } from '../server/secrets.ts';

const FILE = 'token';
const MIN_LENGTH = 20;

/** Where a node keeps the token of whoever runs it. */
export function adminTokenFile(dataDir: string): string {
  return join(dataDir, FILE);
}

/**
 * The admin token: the one that was given, or the one of the data directory, which is made on the first start. Only the user who
 * runs the node may read it.
 */
export function adminToken(dataDir: string, given: string | undefined): string {
  if (given !== undefined) return checked(given, 'token');
  const file = adminTokenFile(dataDir);
  const found = readToken(file);
  if (found !== undefined) return found;
  const token = newSecret('admin');
  mkdirSync(dataDir, { recursive: true });
  try {
    // Of two that start at once, one makes it, and the other reads it.
    writeFileSync(file, `${token}\n`, { mode: 0o600, flag: 'wx' });
    return token;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return readToken(file) ?? checked('', file);
  }
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
  if (token.length >= MIN_LENGTH && /^[\x21-\x7e]+$/.test(token)) return token;
  throw fault(
    'INVALID_INPUT',
    { field: where, problem: `a token has at least ${MIN_LENGTH} letters, digits or signs and no space` },
    { hint: 'Remove the file, and the node makes a good one; or give one with LEASEHOLD_TOKEN.' },
  );
}
