import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '../../client/client.ts';
import { originOf } from '../../client/endpoints.ts';
import { vaultEnvironment } from '../../config/environment.ts';
import { fault, isEngineError } from '../../core/errors.ts';
import type { World } from '../../core/world.ts';
import type { Log } from '../../engine/log.ts';
import { EnrolledAnswer } from '../../protocol/answers.ts';
import { isLoopback } from '../../server/http/hosts.ts';
import { HttpLink } from '../../worker/links/http-link.ts';
import { WsLink } from '../../worker/links/ws-link.ts';
import { openVault, type VaultPlace } from '../../worker/vault/open-vault.ts';
import type { Vault } from '../../worker/vault/vault.ts';
import type { Worker } from '../../worker/worker.ts';
import { type BuiltinOptions, builtinWorkerOptions } from '../builtin-worker.ts';
import { makeDataFolder } from '../data/data-folder.ts';
import { makeWorker, type WorkerParts } from '../worker.ts';
import { realWorld } from '../world.ts';
import { nodeFetch } from './node-fetch.ts';

export type { Log } from '../../engine/log.ts';
export type { Worker } from '../../worker/worker.ts';

/** How a worker proves its identity. */
export interface Credentials {
  readonly name: string;
  readonly secret: string;
}

const FILE = 'worker.json';
const SPOOL = 'spool';

/** Addresses of nodes of one cluster; at least one. */
export type Addresses = readonly [string, ...string[]];

export interface Joining {
  /** Addresses of the nodes, from `nodeAddress`. When one is away, the worker goes to the next. */
  readonly urls: Addresses;
  readonly credentials: Credentials;
  /** Results that the node has not acknowledged are kept here for the next start. */
  readonly dataDir: string;
  /** Plain HTTP requests instead of a WebSocket. */
  readonly http: boolean;
  readonly log: Log;
  readonly world?: World | undefined;
  /** Default: credentials are in memory only. */
  readonly vault?: VaultWish | undefined;
  /** What it says of its release, and who hears that another one is wanted. */
  readonly upgrades?: WorkerParts['upgrades'];
}

export type VaultWish = Pick<VaultPlace, 'folder' | 'demand' | 'fresh'>;

/** The same worker as the built-in one, connected to a node over the network. */
export function remoteWorker(joining: Joining, options: BuiltinOptions): Worker {
  const { urls, credentials, dataDir, http, log, world = realWorld(), vault: wish = {}, upgrades } = joining;
  const { name, secret } = credentials;
  const [url, ...others] = urls;
  const artifacts = { patienceMs: options.artifactPatienceMs, hosts: options.artifactHosts };
  const linkOptions = { url, others, secret, world, log, spool: join(dataDir, SPOOL), artifacts };
  const link = http ? new HttpLink(linkOptions) : new WsLink(linkOptions);
  const vault = async (): Promise<Vault> => {
    const place = { ...wish, environment: vaultEnvironment(), now: world.clock.wall };
    const opened = await openVault(name, place);
    if (opened.because !== undefined)
      log.info('credentials are protected by the rights of files only', { because: opened.because });
    return opened.vault;
  };
  return makeWorker(builtinWorkerOptions({ ...options, name }), {
    link,
    world,
    log,
    name,
    vault,
    upgrades,
    joined: true,
  });
}

/** Exchanges a code for the name and the secret of a worker, and keeps them for its next start. A node that is away is skipped. */
export async function enrol(urls: Addresses, code: string, dataDir: string): Promise<Credentials> {
  for (const url of urls.slice(0, -1)) {
    try {
      return await enrolAt(url, code, dataDir);
    } catch (error) {
      if (!isEngineError(error, 'NODE_UNREACHABLE')) throw error;
    }
  }
  return enrolAt(urls.at(-1) as string, code, dataDir);
}

async function enrolAt(url: string, code: string, dataDir: string): Promise<Credentials> {
  // A code is good once. After a broken call it is not known whether the code was used, so it is not sent again.
  const client = new Client({ url, fetch: nodeFetch });
  const { name, secret } = enrolled(await client.call('enrolWorker', { body: { code }, patienceMs: 0 }), url);
  makeDataFolder(dataDir);
  const file = join(dataDir, FILE);
  // A new file, for this user alone: one that was there would keep its mode, and a link would lead elsewhere.
  const temporary = `${file}.${process.pid}`;
  rmSync(temporary, { force: true });
  writeFileSync(temporary, `${JSON.stringify({ url, name, secret })}\n`, { mode: 0o600, flag: 'wx' });
  renameSync(temporary, file);
  return { name, secret };
}

/** They are written to disk and sent with every connection, so they are believed only where they can be credentials. */
function enrolled(given: unknown, url: string): Credentials {
  const found = EnrolledAnswer.safeParse(given);
  if (found.success) return found.data;
  throw fault('NODE_UNREACHABLE', { url, problem: 'what it answered is no name and no secret' });
}

/** The credentials that one of these nodes gave to an earlier start. */
export function kept(urls: Addresses, dataDir: string): Credentials | undefined {
  try {
    const found = JSON.parse(readFileSync(join(dataDir, FILE), 'utf8')) as Credentials & { readonly url: string };
    return urls.includes(originOf(found.url)) ? { name: found.name, secret: found.secret } : undefined;
  } catch {
    return undefined;
  }
}

/** A secret must not travel unencrypted, except within this host or where the user allows it. */
export function nodeAddress(url: string, { insecure }: { readonly insecure: boolean }): string {
  const origin = originOf(url.replace(/^ws(s?):/, 'http$1:'));
  const { protocol, hostname } = new URL(origin);
  if (protocol === 'https:' || insecure || isLoopback(hostname.replace(/^\[(.*)\]$/, '$1'))) return origin;
  throw fault(
    'INVALID_INPUT',
    { field: '--join', problem: `the secret of the worker would travel to ${hostname} in the clear` },
    { hint: 'Use https://, or a tunnel that ends on this host. On a network that you trust, give --insecure.' },
  );
}
