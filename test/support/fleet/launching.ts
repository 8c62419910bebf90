/** What launchers are tried with: a request, the process around them, and receivers that behave badly. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { RequestListener, Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { isEngineError } from '../../../src/core/errors.ts';
import type { Launcher, LauncherHost, LauncherKind, LaunchRequest } from '../../../src/fleet/launcher.ts';
import { rowOf } from '../../../src/worker/runner/process/process-table.ts';
import type { Ends } from '../leasehold.ts';

export const TICKET = 'canary-ticket-9f2c';
/** Where programs are found. */
export const PATH: string = process.env['PATH'] ?? '/usr/bin:/bin';

export function requestOf(given: Partial<LaunchRequest> = {}): LaunchRequest {
  const pool = given.pool ?? 'papers';
  return {
    pool,
    ticketId: 'tk_1',
    ticket: TICKET,
    args: ['worker', '--once', '--queue', pool],
    env: { LEASEHOLD_TICKET: TICKET, LEASEHOLD_POOL: pool },
    expiresAt: Date.UTC(2026, 10, 19, 12),
    signal: new AbortController().signal,
    ...given,
  };
}

export function hostOf(given: Partial<LauncherHost> = {}): LauncherHost {
  return {
    localEnv: { LEASEHOLD_STORE: 'sqlite:/srv/work.db', LEASEHOLD_TOKEN: 'canary', PATH },
    leasehold: ['/usr/bin/node', '/srv/leasehold.js'],
    log: () => {},
    now: () => 1_614_265_330_000,
    secret: () => undefined,
    ...given,
  };
}

export function launcherOf(kind: LauncherKind, settings: object, host: Partial<LauncherHost> = {}): Launcher {
  return kind.make(settings as Readonly<Record<string, unknown>>, hostOf(host));
}

/** What is wrong with settings: each problem with its field. */
export function problemsOf(kind: LauncherKind, settings: object): readonly string[] {
  try {
    launcherOf(kind, settings);
  } catch (error) {
    assert.ok(isEngineError(error, 'INVALID_INPUT'), String(error));
    const {
      field,
      problem,
      problems = [{ field, problem }],
    } = error.details as {
      readonly field: string;
      readonly problem: string;
      readonly problems?: readonly { readonly field: string; readonly problem: string }[];
    };
    return problems.map((one) => `${one.field} ${one.problem}`);
  }
  return [];
}

export interface Refusal {
  readonly code: string;
  readonly message: string;
}

/** How a launch failed. What it says never has the ticket in it. */
export async function refusalOf(launching: Promise<unknown>): Promise<Refusal> {
  const error = await launching.then(
    (launched) => assert.fail(`it was launched: ${JSON.stringify(launched)}`),
    (thrown: unknown) => thrown as Refusal,
  );
  assert.ok(!error.message.includes(TICKET), 'the error has the ticket in it');
  return error;
}

export interface Listening {
  readonly port: number;
  readonly connections: () => number;
  /** Resolves when no connection is left. */
  readonly left: () => Promise<void>;
}

export async function listening(t: Ends, server: Server): Promise<Listening> {
  const open = new Set<Socket>();
  let count = 0;
  let changed = Promise.withResolvers<void>();
  server.on('connection', (socket: Socket) => {
    count++;
    open.add(socket);
    socket
      .on('error', () => {})
      .once('close', () => {
        open.delete(socket);
        changed.resolve();
        changed = Promise.withResolvers();
      });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    for (const socket of open) socket.destroy();
  });
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => count,
    left: async () => {
      while (open.size > 0) await changed.promise;
    },
  };
}

/** Whatever a listener returns, also a promise, is of no interest. */
export type Answer = (...args: Parameters<RequestListener>) => unknown;

/** A process that has ended but was not reaped yet does not live. */
export function lives(pid: number): boolean {
  return rowOf(pid) !== undefined;
}
