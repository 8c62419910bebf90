import { chmodSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { Client } from '../client/client.ts';
import { fault } from '../core/errors.ts';
import { isLoopback } from '../server/http/hosts.ts';
import { bornOf } from '../worker/spool/owner.ts';
import { makeDataFolder } from './data/data-folder.ts';
import { nodeFetch } from './remote/node-fetch.ts';

/** Where a node answers, for commands that use the same data directory. */
export interface NodeAddress {
  readonly url: string;
  readonly pid: number;
}

/** What the file says. */
interface Announced extends NodeAddress {
  /** The start time of the process: process ids are reused, by other users too. */
  readonly born?: string | undefined;
}

const FILE = 'node.json';
/** A node answers at once. One that does not cannot be relied on. */
const PATIENCE_MS = 3000;

/** Tells commands where the node of this directory answers. Returns a function that takes it back, unless another node has replaced it. */
export function announceNode(dataDir: string, node: NodeAddress): () => void {
  makeDataFolder(dataDir);
  keepOthersOut(dataDir);
  const file = join(dataDir, FILE);
  const temporary = `${file}.${node.pid}`;
  const announced: Announced = { url: reachable(node.url), pid: node.pid, born: bornOf(node.pid) };
  // The file appears under its name only with its content, for a command that reads it at this moment. It is a new one: in a
  // folder that was open to others a link of that name may lead anywhere.
  rmSync(temporary, { force: true });
  writeFileSync(temporary, `${JSON.stringify(announced)}\n`, { mode: 0o600, flag: 'wx' });
  renameSync(temporary, file);
  return () => {
    if (readNode(dataDir)?.pid === node.pid) rmSync(file, { force: true });
  };
}

/**
 * The node of this directory, if its process runs and it answers. `token`: whether the one of the directory is sent there. A command sends its token there, so an address that
 * somebody else can have written is refused, and not even asked.
 */
export async function liveNode(dataDir: string, token: 'own' | 'other' = 'other'): Promise<string | undefined> {
  const node = readNode(dataDir);
  if (node === undefined || !isThere(node) || !URL.canParse(node.url)) return undefined;
  requireOwn(dataDir, node.url, token);
  try {
    // Without a token: another process may listen at that address by now.
    const client = new Client({ url: node.url, fetch: nodeFetch });
    const { status } = await client.call('health', { timeoutMs: PATIENCE_MS, patienceMs: 0 });
    return status === 'ok' ? client.origin : undefined;
  } catch {
    return undefined;
  }
}

function readNode(dataDir: string): Announced | undefined {
  try {
    const { url, pid, born } = JSON.parse(readFileSync(join(dataDir, FILE), 'utf8')) as Partial<Announced>;
    return typeof url === 'string' && typeof pid === 'number' && pid > 0 ? { url, pid, born } : undefined;
  } catch {
    return undefined;
  }
}

/** Loopback, or an address of this host, where a node may listen for others. */
function isHere(hostname: string): boolean {
  const own = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  return isLoopback(hostname) || own.some(({ address }) => address === hostname);
}

/** Bits of a mode that let the group or everybody write. */
const OTHERS_WRITE = 0o022;

function requireOwn(dataDir: string, url: string, token: 'own' | 'other'): void {
  const file = join(dataDir, FILE);
  const problem =
    foreignness(dataDir) ??
    foreignness(file) ??
    // The token in the same folder is worth nothing elsewhere: whoever made up the folder has it already.
    (token === 'own' || isHere(new URL(url).hostname.replace(/^\[(.*)\]$/, '$1'))
      ? undefined
      : 'it names an address of another host');
  if (problem === undefined) return;
  throw fault(
    'FORBIDDEN',
    { problem: `no token is sent to the node that ${file} names, because ${problem}` },
    { hint: 'If you trust it, name it yourself: --server URL, with its token in LEASEHOLD_TOKEN.' },
  );
}

/** Why somebody else may have written there; undefined: only this user can have. */
function foreignness(path: string): string | undefined {
  const user = process.getuid?.();
  if (user === undefined) return undefined;
  const { uid, mode } = statSync(path);
  if (uid !== user) return `${path} belongs to another user`;
  return (mode & OTHERS_WRITE) === 0 ? undefined : `others may write to ${path} ("chmod go-w" ends that)`;
}

/** A folder that was made under a loose umask: a command would not trust what it finds there. */
function keepOthersOut(dataDir: string): void {
  const { uid, mode } = statSync(dataDir);
  if (uid === process.getuid?.() && (mode & OTHERS_WRITE) !== 0) chmodSync(dataDir, mode & 0o7777 & ~OTHERS_WRITE);
}

/**
 * Whether the process that wrote the file runs. After a node was killed somebody else may listen at its address, and would get
 * the token once a process has its number again.
 */
function isThere({ pid, born }: Announced): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    // It has ended, or it belongs to another user, and the node of this user has ended.
    return false;
  }
  const now = bornOf(pid);
  return born === undefined || now === undefined || born === now;
}

/** A node that listens on all addresses is called on the loopback address. */
function reachable(url: string): string {
  return url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
}
