import { randomUUID } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fault } from '../core/errors.ts';
import { newSecret } from '../operate/secrets.ts';

const FILE = 'token';
const MIN_LENGTH = 20;
/** As much as is taken from a header. */
const MAX_LENGTH = 512;

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
  mkdirSync(dataDir, { recursive: true });
  place(file, newSecret('admin'));
  return readToken(file) ?? checked('', file);
}

/**
 * Of two that start at once, one puts its token there and the other finds it. A file appears under that name only with its text
 * in it: neither the other one nor the next start after a crash reads an empty one.
 */
function place(file: string, token: string): void {
  const own = `${file}.${randomUUID()}`;
  try {
    writeFileSync(own, `${token}\n`, { mode: 0o600, flag: 'wx' });
    linkSync(own, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(own, { force: true });
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
  if (token.length >= MIN_LENGTH && token.length <= MAX_LENGTH && /^[\x21-\x7e]+$/.test(token)) return token;
  throw fault(
    'INVALID_INPUT',
    { field: where, problem: `a token has ${MIN_LENGTH} to ${MAX_LENGTH} letters, digits or signs and no space` },
    { hint: 'Remove the file, and the node makes a good one; or give one with LEASEHOLD_TOKEN.' },
  );
}
