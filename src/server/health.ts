import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, BlockList, isIP } from 'node:net';
import { type EngineError, fault } from '../core/errors.ts';
import { type Log, SILENT } from '../engine/log.ts';
import { unfailing } from '../engine/unfailing-log.ts';

export interface HealthOptions {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  readonly log?: Log;
}

export interface HealthServer {
  /** Where it answers, with the real port: `http://127.0.0.1:7420`. */
  readonly address: string;
  close(): Promise<void>;
}

/** Longer than any health check needs; a client that dawdles is cut off. */
const REQUEST_MS = 10_000;

/** Says that this process is alive: `GET /healthz`, and nothing else. Listens on loopback addresses only. */
export async function serveHealth(options: HealthOptions): Promise<HealthServer> {
  const { host, port } = options;
  const log = unfailing(options.log ?? SILENT);
  requireLoopback(host);
  const server = createServer({ requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS }, (request, response) =>
    answer(request, response, host),
  );
  await listen(server, host, port);
  // Such as EMFILE when a connection comes. The server goes on; without a listener the error would end the process.
  server.on('error', (error) => log.warn('the health server had an error and goes on', { error: String(error) }));
  const bound = server.address() as AddressInfo;
  return {
    address: `http://${isIP(host) === 6 ? `[${host}]` : host}:${bound.port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        // Answers are written at once, so whatever is still open waits for a request that need not come.
        server.closeAllConnections();
      }),
  };
}

function answer(request: IncomingMessage, response: ServerResponse, host: string): void {
  const path = (request.url ?? '').split('?', 1)[0] as string;
  if (!isExpectedHost(request.headers.host, host)) {
    // A name that somebody else's DNS points at this machine: a web page elsewhere is trying to read us.
    const problem = `this server does not answer to ${JSON.stringify(request.headers.host ?? '')}`;
    const refusal = fault('INVALID_INPUT', { field: 'Host header', problem }, { hint: `Ask for ${host} instead.` });
    send(response, 421, errorBody(refusal));
  } else if (path === '/healthz' && (request.method === 'GET' || request.method === 'HEAD')) {
    send(response, 200, { status: 'ok' });
  } else {
    const missing = fault(
      'NOT_FOUND',
      { kind: 'page', id: `${request.method} ${path}` },
      { hint: 'This version answers GET /healthz only.' },
    );
    send(response, missing.status, errorBody(missing));
  }
}

/** The message is bounded, the details are not: they would send a long path back as it came. */
function errorBody({ code, message, hint }: EngineError): object {
  return { error: { code, message, hint } };
}

function send(response: ServerResponse, status: number, body: object): void {
  const text = `${JSON.stringify(body)}\n`;
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
  response.end(text);
}

/** A browser sends the name that the page was loaded from; only names that always mean this machine may read us. */
function isExpectedHost(header: string | undefined, host: string): boolean {
  const name = header === undefined ? undefined : /^(\[[^\]]*\]|[^:]*)(?::\d*)?$/.exec(header)?.[1];
  if (name === undefined) return false;
  const bare = name.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  return bare === host.toLowerCase() || isLoopback(bare);
}

const loopbacks = new BlockList();
loopbacks.addSubnet('127.0.0.0', 8, 'ipv4');
loopbacks.addAddress('::1', 'ipv6');

function isLoopback(name: string): boolean {
  if (name === 'localhost') return true;
  const family = isIP(name);
  return family !== 0 && loopbacks.check(name, family === 6 ? 'ipv6' : 'ipv4');
}

function requireLoopback(host: string): void {
  if (isLoopback(host.toLowerCase())) return;
  throw fault(
    'INVALID_INPUT',
    { field: 'host', problem: `${JSON.stringify(host)} is not a loopback address` },
    {
      hint: 'Use --host 127.0.0.1 (the default), ::1 or localhost: this version has neither tokens nor TLS to guard an open port.',
    },
  );
}

async function listen(server: Server, host: string, port: number): Promise<void> {
  server.listen({ host, port });
  try {
    await once(server, 'listening');
  } catch (error) {
    throw cannotListen(error as NodeJS.ErrnoException, host, port);
  }
}

function cannotListen(error: NodeJS.ErrnoException, host: string, port: number): Error {
  switch (error.code ?? '') {
    case 'EADDRINUSE':
      return fault(
        'CONFLICT',
        { problem: `port ${port} of ${host} is already in use` },
        {
          cause: error,
          hint: 'Perhaps another leasehold runs there. Stop it, or choose another port with --port (0 picks a free one).',
        },
      );
    case 'EACCES':
      return fault(
        'INVALID_INPUT',
        { field: 'port', problem: `the system does not let this user listen on port ${port}` },
        { cause: error, hint: 'Choose a port above 1023 with --port.' },
      );
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return fault(
        'INVALID_INPUT',
        { field: 'host', problem: `this machine has no address ${host}` },
        { cause: error, hint: 'Use --host 127.0.0.1, the default.' },
      );
    default:
      return fault(
        'INTERNAL',
        { problem: `the server cannot listen on ${host}:${port} (${error.message})` },
        { cause: error },
      );
  }
}
