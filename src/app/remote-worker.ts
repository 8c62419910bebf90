import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { EngineError, type ErrorBody, fault, isErrorCode } from '../core/errors.ts';
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

/** The same worker as the built-in one, over a WebSocket to a node. */
export function remoteWorker(
  url: string,
  credentials: Credentials,
  options: BuiltinOptions,
  { log }: { readonly log: Log },
): Worker {
  const { name, secret } = credentials;
  const world = realWorld();
  const link = new WsLink({ url: checkedUrl(url), secret, world, log });
  return makeWorker(builtinWorkerOptions({ ...options, name }), { link, world, log, name });
}

/** Exchanges a code for the name and the secret of a worker, and keeps them for its next start. */
export async function enrol(url: string, code: string, dataDir: string): Promise<Credentials> {
  const { method, path } = ROUTES.enrolWorker;
  const response = await fetch(new URL(path, checkedUrl(url)), {
    method,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ code }),
  }).catch((cause: unknown) => {
    throw unreachable(url, cause);
  });
  const answer: unknown = await response.json().catch(() => undefined);
  if (!response.ok) throw errorOf(answer, response.status);
  const { name, secret } = answer as Credentials;
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

/** A certificate that this machine does not trust is another thing than a node that is not there. */
function unreachable(url: string, cause: unknown): Error {
  const { code = '', message = '' } = ((cause as Error).cause ?? {}) as Partial<NodeJS.ErrnoException>;
  if (/CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ALTNAME/.test(code)) {
    return fault(
      'STORE_UNAVAILABLE',
      { problem: `the certificate of ${url} is not trusted here (${message})` },
      { hint: 'Name the file of who signed it: NODE_EXTRA_CA_CERTS=ca.pem leasehold worker …', cause },
    );
  }
  return fault(
    'STORE_UNAVAILABLE',
    { problem: `nobody answers at ${url}` },
    { hint: 'Check the address that "leasehold up" prints, and that this machine can reach it.', cause },
  );
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
