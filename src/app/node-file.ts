import { chmodSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { Client } from '../client/client.ts';
import { fault } from '../core/errors.ts';
import { isLoopback } from '../server/http/hosts.ts';
import { makeDataFolder } from './data/data-folder.ts';

/** Where a node answers, for commands that use the same data directory. */
export interface NodeAddress {
  readonly url: string;
  readonly pid: number;
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
  // The file appears under its name only with its content, for a command that reads it at this moment.
  writeFileSync(temporary, `${JSON.stringify({ url: reachable(node.url), pid: node.pid })}\n`, { mode: 0o600 });
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
  if (node === undefined || !isThere(node.pid) || !URL.canParse(node.url)) return undefined;
  requireOwn(dataDir, node.url, token);
  try {
    // Without a token: another process may listen at that address by now.
    const client = new Client({ url: node.url });
    const { status } = await client.call('health', { timeoutMs: PATIENCE_MS, patienceMs: 0 });
    return status === 'ok' ? client.origin : undefined;
  } catch {
    return undefined;
  }
}

function readNode(dataDir: string): NodeAddress | undefined {
  try {
    const { url, pid } = JSON.parse(readFileSync(join(dataDir, FILE), 'utf8')) as Partial<NodeAddress>;
    return typeof url === 'string' && typeof pid === 'number' && pid > 0 ? { url, pid } : undefined;
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

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // The process is there, and belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** A node that listens on all addresses is called on the loopback address. */
function reachable(url: string): string {
  return url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
}
