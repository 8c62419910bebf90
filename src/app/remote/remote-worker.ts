import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '../../client/client.ts';
import { originOf } from '../../client/endpoints.ts';
import { fault, isEngineError } from '../../core/errors.ts';
import type { World } from '../../core/world.ts';
import type { Log } from '../../engine/log.ts';
import { isLoopback } from '../../server/http/hosts.ts';
import { HttpLink } from '../../worker/links/http-link.ts';
import { WsLink } from '../../worker/links/ws-link.ts';
import type { Worker } from '../../worker/worker.ts';
import { type BuiltinOptions, builtinWorkerOptions } from '../builtin-worker.ts';
import { makeWorker } from '../worker.ts';
import { realWorld } from '../world.ts';

export type { Log } from '../../engine/log.ts';
export type { Worker } from '../../worker/worker.ts';

/** How a worker proves who it is. */
export interface Credentials {
  readonly name: string;
  readonly secret: string;
}

const FILE = 'worker.json';
const SPOOL = 'spool';

/** Where nodes of one cluster answer; one at least. */
export type Addresses = readonly [string, ...string[]];

export interface Joining {
  /** Of the nodes, from `nodeAddress`: when one is away it goes to the next. */
  readonly urls: Addresses;
  readonly credentials: Credentials;
  /** What the node has not heard is kept in it for the next start. */
  readonly dataDir: string;
  /** By plain requests. */
  readonly http: boolean;
  readonly log: Log;
  readonly world?: World | undefined;
}

/** The same worker as the built-in one, over the network to a node. */
export function remoteWorker(joining: Joining, options: BuiltinOptions): Worker {
  const { urls, credentials, dataDir, http, log, world = realWorld() } = joining;
  const { name, secret } = credentials;
  const [url, ...others] = urls;
  const way = { url, others, secret, world, log, spool: join(dataDir, SPOOL) };
  const link = http ? new HttpLink(way) : new WsLink(way);
  return makeWorker(builtinWorkerOptions({ ...options, name }), { link, world, log, name });
}

/** Exchanges a code for the name and the secret of a worker, and keeps them for its next start. Who is away is passed over. */
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
  // A code is good once: whether a try that broke off has used it is not known, and so it is not sent again.
  const client = new Client({ url });
  const { name, secret } = await client.call('enrolWorker', { body: { code }, patienceMs: 0 });
  mkdirSync(dataDir, { recursive: true });
  writeFileSync(join(dataDir, FILE), `${JSON.stringify({ url, name, secret })}\n`, { mode: 0o600 });
  return { name, secret };
}

/** What an earlier start was given by one of these nodes. */
export function kept(urls: Addresses, dataDir: string): Credentials | undefined {
  try {
    const found = JSON.parse(readFileSync(join(dataDir, FILE), 'utf8')) as Credentials & { readonly url: string };
    return urls.includes(originOf(found.url)) ? { name: found.name, secret: found.secret } : undefined;
  } catch {
    return undefined;
  }
}

/** A secret must not travel in the clear, but within this machine or where somebody says so. */
export function nodeAddress(url: string, { insecure }: { readonly insecure: boolean }): string {
  const origin = originOf(url.replace(/^ws(s?):/, 'http$1:'));
  const { protocol, hostname } = new URL(origin);
  if (protocol === 'https:' || insecure || isLoopback(hostname.replace(/^\[(.*)\]$/, '$1'))) return origin;
  throw fault(
    'INVALID_INPUT',
    { field: '--join', problem: `the secret of the worker would travel to ${hostname} in the clear` },
    { hint: 'Use https://, or a tunnel that ends on this machine. On a network that you trust, give --insecure.' },
  );
}
