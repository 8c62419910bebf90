import { createHash, hkdfSync, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fault } from '../../core/errors.ts';
import type { CredentialLevel } from '../../protocol/credential-envelope.ts';
import { privateFolder, writeFirst } from './files.ts';
import { type Keyring, problemOf } from './keyring.ts';
import { KEY_BYTES } from './sealed.ts';

/** The least that a vault must offer, or what it is to use. */
export type VaultDemand = 'keyring' | 'file' | 'memory';

export interface ProtectionOptions {
  /** The folder of this worker in the vault. */
  readonly folder: string;
  /** The folder for its key, at the level `file`. */
  readonly keyFolder: string;
  readonly worker: string;
  readonly demand?: Exclude<VaultDemand, 'memory'> | undefined;
  /** The folder with the credentials of a systemd unit. */
  readonly credentials?: string | undefined;
  readonly keyring: Keyring;
}

/** Where the key of a vault comes from. */
export interface Protection {
  readonly level: CredentialLevel;
  readonly key: Buffer;
  /** Why it is no better one. */
  readonly because?: string | undefined;
}

const MATERIAL = 'leasehold-vault';
const KEY_FILE = 'key';

/** The first that works: a credential of the systemd unit, the keyring of the system, a file in a folder of its own. */
export async function protectionOf(options: ProtectionOptions): Promise<Protection> {
  if (options.demand === 'file') return { level: 'file', key: await keyInFile(options) };
  const material = await materialOf(options);
  if (material !== undefined) return { level: 'systemd', key: derived(material, options.worker) };
  const because = await problemOf(options.keyring);
  if (because === undefined) return { level: 'keyring', key: await keyInRing(options) };
  if (options.demand === 'keyring') {
    const problem = `the keyring of this system does not work: ${because}`;
    const hint = `Unlock it, or give the unit a credential: LoadCredentialEncrypted=${MATERIAL}. Without a demand the worker keeps credentials in files.`;
    throw fault('INVALID_INPUT', { field: '--vault-level', problem }, { hint });
  }
  return { level: 'file', key: await keyInFile(options), because };
}

async function materialOf({ credentials }: ProtectionOptions): Promise<Buffer | undefined> {
  if (credentials === undefined) return undefined;
  const path = join(credentials, MATERIAL);
  const found = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (found === undefined || found.length >= KEY_BYTES) return found;
  throw fault('INVALID_INPUT', { field: path, problem: `it has fewer than ${KEY_BYTES} bytes` });
}

function derived(material: Buffer, worker: string): Buffer {
  return Buffer.from(hkdfSync('sha256', material, worker, 'leasehold vault 1', KEY_BYTES));
}

/** By its folder: another vault of the same user has another key. */
async function keyInRing({ keyring, folder, worker }: ProtectionOptions): Promise<Buffer> {
  const name = createHash('sha256')
    .update(`${resolve(folder)}\n${worker}`)
    .digest('hex')
    .slice(0, 32);
  const known = keyFrom(await keyring.get(name));
  if (known !== undefined) return known;
  await keyring.set(name, newKey());
  const kept = keyFrom(await keyring.get(name));
  if (kept !== undefined) return kept;
  throw fault('INTERNAL', { problem: 'the keyring of this system has lost a key' });
}

/** Apart from what it opens: a copy of one of the two folders opens nothing. */
async function keyInFile({ keyFolder }: ProtectionOptions): Promise<Buffer> {
  const path = join(keyFolder, KEY_FILE);
  await privateFolder(dirname(keyFolder));
  await privateFolder(keyFolder);
  await writeFirst(path, newKey());
  const key = keyFrom(await readFile(path, 'utf8'));
  if (key !== undefined) return key;
  throw fault(
    'INVALID_INPUT',
    { field: path, problem: 'it is not the key of a vault' },
    { hint: 'Remove it. The worker makes another one then, and is given its credentials again.' },
  );
}

const newKey = (): string => randomBytes(KEY_BYTES).toString('base64');

function keyFrom(text: string | undefined): Buffer | undefined {
  const key = Buffer.from(text ?? '', 'base64');
  return key.length === KEY_BYTES ? key : undefined;
}
