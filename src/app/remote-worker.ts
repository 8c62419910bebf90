import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, originOf } from '../client/client.ts';
import type { World } from '../core/world.ts';
import type { Log } from '../engine/log.ts';
import type { Worker } from '../worker/worker.ts';
import { WsLink } from '../worker/ws-link.ts';
import { type BuiltinOptions, builtinWorkerOptions } from './builtin-worker.ts';
import { makeWorker } from './worker.ts';
import { realWorld } from './world.ts';

export type { Log } from '../engine/log.ts';
export type { Worker } from '../worker/worker.ts';

/** How a worker proves who it is. */
export interface Credentials {
  readonly name: string;
  readonly secret: string;
}

const FILE = 'worker.json';

/** The same worker as the built-in one, over a WebSocket to a node. */
export function remoteWorker(
  url: string,
  credentials: Credentials,
  options: BuiltinOptions,
  { log, world = realWorld() }: { readonly log: Log; readonly world?: World | undefined },
): Worker {
  const { name, secret } = credentials;
  const link = new WsLink({ url: checkedUrl(url), secret, world, log });
  return makeWorker(builtinWorkerOptions({ ...options, name }), { link, world, log, name });
}

/** Exchanges a code for the name and the secret of a worker, and keeps them for its next start. */
export async function enrol(url: string, code: string, dataDir: string): Promise<Credentials> {
  // A code is good once: whether a try that broke off has used it is not known, and so it is not sent again.
  const client = new Client({ url: checkedUrl(url) });
  const { name, secret } = await client.call('enrolWorker', { body: { code }, patienceMs: 0 });
  mkdirSync(dataDir, { recursive: true });
  writeFileSync(join(dataDir, FILE), `${JSON.stringify({ url, name, secret })}\n`, { mode: 0o600 });
  return { name, secret };
}

/** What an earlier start was given for this node. */
export function kept(url: string, dataDir: string): Credentials | undefined {
  try {
    const found = JSON.parse(readFileSync(join(dataDir, FILE), 'utf8')) as Credentials & { readonly url: string };
    return found.url === url ? { name: found.name, secret: found.secret } : undefined;
  } catch {
    return undefined;
  }
}

/** The address of a node, which may be given as that of its WebSocket too. */
function checkedUrl(url: string): string {
  return originOf(url.replace(/^ws(s?):/, 'http$1:'));
}
