import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fault } from '../../core/errors.ts';
import { newSecret } from '../../operate/secrets.ts';
import { makeDataFolder } from './data-folder.ts';
import { writeOnce } from './private-file.ts';

/** The name of the file in the data folder, and of the credential of systemd. */
const FILE = 'cluster-secret';
/** Behind the name of the file while its successor is not taken yet. */
const BEFORE = '.before';
const MIN_LENGTH = 32;
const MAX_LENGTH = 512;

/** Where the secret of a cluster comes from. */
export interface SecretSource {
  /** As people call it. */
  readonly place: string;
  /** Undefined: there is none. */
  read(): string | undefined;
  /** Makes a secret where there is none. Undefined: it comes from outside, and is not made here. */
  readonly make?: (() => MadeSecret) | undefined;
  /** Makes another one in its place. The one before stays beside it until `settled`. */
  readonly replace?: (() => string) | undefined;
  /** The one before the last replacement, which was not settled: the process had ended before. */
  readonly earlier?: (() => string | undefined) | undefined;
  /** The store has taken the new one. */
  readonly settled?: (() => void) | undefined;
}

export interface MadeSecret {
  readonly secret: string;
  /** Takes it away again, unless another process has made it. */
  readonly undo: () => void;
}

export interface SecretPlaces {
  readonly dataDir: string;
  /** A file that an option names. */
  readonly file?: string | undefined;
  /** The secret itself, from the environment. */
  readonly given?: string | undefined;
  /** The folder with the credentials of a systemd unit. */
  readonly credentials?: string | undefined;
}

/** The first of these that is there: a file that was named, the environment, a credential of systemd, the data folder. */
export function secretSource({ dataDir, file, given, credentials }: SecretPlaces): SecretSource {
  if (file !== undefined) return { place: file, read: () => readNamed(file) };
  if (given !== undefined)
    return { place: 'LEASEHOLD_CLUSTER_SECRET', read: () => checked(given, 'LEASEHOLD_CLUSTER_SECRET') };
  const credential = credentials === undefined ? undefined : join(credentials, FILE);
  if (credential !== undefined && readSecret(credential) !== undefined) {
    return { place: credential, read: () => readSecret(credential) };
  }
  const own = join(dataDir, FILE);
  return {
    place: own,
    read: () => readSecret(own),
    make: () => make(dataDir, own),
    replace: () => replace(dataDir, own),
    earlier: () => readSecret(`${own}${BEFORE}`),
    settled: () => rmSync(`${own}${BEFORE}`, { force: true }),
  };
}

function make(dataDir: string, file: string): MadeSecret {
  makeDataFolder(dataDir);
  const isOurs = writeOnce(file, newSecret('cluster'));
  const secret = readSecret(file) ?? checked('', file);
  return { secret, undo: () => void (isOurs && rmSync(file, { force: true })) };
}

function replace(dataDir: string, file: string): string {
  // What was sealed under it is sealed anew with it: until then it must not be lost. An older one that waits here is the one that counts.
  if (existsSync(file) && !existsSync(`${file}${BEFORE}`)) renameSync(file, `${file}${BEFORE}`);
  rmSync(file, { force: true });
  return make(dataDir, file).secret;
}

function readNamed(file: string): string {
  const secret = readSecret(file);
  if (secret !== undefined) return secret;
  const hint = `Write one: (umask 077; openssl rand -base64 32 > ${file}). All nodes of the cluster need the same.`;
  throw fault('NOT_FOUND', { kind: 'file', id: file }, { hint });
}

function readSecret(file: string): string | undefined {
  try {
    return checked(readFileSync(file, 'utf8').trim(), file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function checked(secret: string, where: string): string {
  if (secret.length >= MIN_LENGTH && secret.length <= MAX_LENGTH && /^[\x21-\x7e]+$/.test(secret)) return secret;
  throw fault(
    'INVALID_INPUT',
    {
      field: where,
      problem: `the secret of a cluster has ${MIN_LENGTH} to ${MAX_LENGTH} letters, digits or signs and no space`,
    },
    { hint: 'Make one of random bits: openssl rand -base64 32. All nodes of the cluster need the same.' },
  );
}
