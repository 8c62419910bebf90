import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { EngineError, type ErrorBody, fault, isEngineError, isErrorCode } from '../core/errors.ts';
import type { Log } from '../engine/log.ts';
import { ROUTES } from '../protocol/routes.ts';
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

/** Where nodes of one cluster answer; one at least. */
export type Addresses = readonly [string, ...string[]];

/** The same worker as the built-in one, over a WebSocket to a node; to the next one when that is away. */
export function remoteWorker(
  urls: Addresses,
  credentials: Credentials,
  options: BuiltinOptions,
  { log }: { readonly log: Log },
): Worker {
  const { name, secret } = credentials;
  const world = realWorld();
  const link = new WsLink({ urls: urls.map(checkedUrl) as [string, ...string[]], secret, world, log });
  return makeWorker(builtinWorkerOptions({ ...options, name }), { link, world, log, name });
}

/** Exchanges a code for the name and the secret of a worker, and keeps them for its next start. Who is away is passed over. */
export async function enrol(urls: Addresses, code: string, dataDir: string): Promise<Credentials> {
  for (const url of urls.slice(0, -1)) {
    try {
      return await enrolAt(url, code, dataDir);
    } catch (error) {
      if (!isEngineError(error, 'STORE_UNAVAILABLE')) throw error;
    }
  }
  return enrolAt(urls.at(-1) as string, code, dataDir);
}

async function enrolAt(url: string, code: string, dataDir: string): Promise<Credentials> {
  const { method, path } = ROUTES.enrolWorker;
  const response = await fetch(new URL(path, checkedUrl(url)), {
    method,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ code }),
  }).catch((cause: unknown) => {
    throw fault(
      'STORE_UNAVAILABLE',
      { problem: `nobody answers at ${url}` },
      {
        hint: 'Check the address that "leasehold up" prints, and that this machine can reach it.',
        cause,
      },
    );
  });
  const answer: unknown = await response.json().catch(() => undefined);
  if (!response.ok) throw errorOf(answer, response.status);
  const { name, secret } = answer as Credentials;
  mkdirSync(dataDir, { recursive: true });
  writeFileSync(join(dataDir, FILE), `${JSON.stringify({ url, name, secret })}\n`, { mode: 0o600 });
  return { name, secret };
}

/** What an earlier start was given by one of these nodes. */
export function kept(urls: Addresses, dataDir: string): Credentials | undefined {
  try {
    const found = JSON.parse(readFileSync(join(dataDir, FILE), 'utf8')) as Credentials & { readonly url: string };
    return urls.includes(found.url) ? { name: found.name, secret: found.secret } : undefined;
  } catch {
    return undefined;
  }
}

/** A secret must not travel in the clear, but within this machine. */
function checkedUrl(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed !== undefined && /^(https?|wss?):$/.test(parsed.protocol)) return parsed.origin.replace(/^ws/, 'http');
  throw fault(
    'INVALID_INPUT',
    { field: '--join', problem: `${JSON.stringify(url)} is not the address of a node` },
    {
      hint: 'It looks like http://127.0.0.1:7420 or https://tasks.example.org.',
    },
  );
}

function errorOf(answer: unknown, status: number): Error {
  const { code, message, hint } = ((answer ?? {}) as { error?: Partial<ErrorBody> }).error ?? {};
  if (code === undefined || !isErrorCode(code)) {
    return fault('INTERNAL', { problem: `what answers there is no node of leasehold (HTTP ${status})` });
  }
  const { retryable } = fault(code);
  return new EngineError({ code, message: message ?? code, status, retryable, hint });
}
