import { randomUUID } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { fault } from '../../core/errors.ts';
import { BodyBudget } from './body-budget.ts';
import { BodyDeadline } from './body-deadline.ts';
import { MAX_BODY_BYTES, MAX_OPEN_BODY_BYTES, MAX_OPEN_PARTS, readBody } from './body-reader.ts';
import { isLoopback } from './hosts.ts';
import { parseBody } from './json-body.ts';
import { notJson, refuseBytes } from './refusals.ts';

const HEADERS_MS = 10_000;
const REQUEST_MS = 60_000;
/** How often Node checks for connections beyond these timeouts. Its default is half a minute. */
const CHECK_MS = 1000;
/** A little longer than proxies keep an idle connection, so that the proxy closes it. */
const IDLE_MS = 65_000;

export interface ListenOptions {
  readonly host: string;
  /** PEM texts. */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
  /** Listens beyond this host without TLS, because a proxy in front does it. */
  readonly insecure?: boolean | undefined;
  /** How long a caller may take for the headers, and for the whole request. */
  readonly timeouts?: { readonly headersMs: number; readonly requestMs: number } | undefined;
}

/** Refuses to listen where tokens would travel in the clear. */
export function requireTls({ host, tls, insecure = false }: ListenOptions): void {
  if (tls !== undefined) requirePair(tls);
  if (isLoopback(host) || tls !== undefined || insecure) return;
  throw fault(
    'INVALID_INPUT',
    {
      field: 'host',
      problem: `${JSON.stringify(host)} is not a loopback address, and tokens would travel in the clear`,
    },
    {
      hint: 'Give --tls-cert and --tls-key, or --insecure-behind-proxy when a proxy in front of it does TLS; or stay with --host 127.0.0.1, the default.',
    },
  );
}

function requirePair(tls: NonNullable<ListenOptions['tls']>): void {
  try {
    createSecureContext(tls);
  } catch (cause) {
    const { message } = cause as Error;
    throw fault(
      'INVALID_INPUT',
      { field: 'certificate', problem: `it and its key are not PEM, or do not belong together (${message})` },
      { hint: '--tls-cert names the file with the certificate, --tls-key the one with its key.', cause },
    );
  }
}

export interface RequestHooks {
  /** Answers requests whose URL is malformed, which reach no route. */
  readonly refuse: (error: unknown, request: FastifyRequest, reply: FastifyReply) => void;
  /** The bound of a body that is handed over as it came; undefined: it is parsed here. */
  readonly rawBytes: (request: FastifyRequest) => number | undefined;
  /** Whether its handler reads the body itself, as it comes. */
  readonly isStreamed: (request: FastifyRequest) => boolean;
  /** The key of an authenticated caller; undefined: it has no token. */
  readonly callerOf: (request: FastifyRequest) => string | undefined;
}

export function makeFastify(
  { tls, timeouts = { headersMs: HEADERS_MS, requestMs: REQUEST_MS } }: ListenOptions,
  { refuse, callerOf, rawBytes, isStreamed }: RequestHooks,
): FastifyInstance {
  const options = {
    // For what is read without our own parser. A caller with a token has a larger bound there.
    bodyLimit: MAX_OPEN_BODY_BYTES,
    // Each has its own: bytes of artifacts may take as long as they take.
    requestTimeout: 0,
    keepAliveTimeout: IDLE_MS,
    forceCloseConnections: true,
    genReqId: () => randomUUID(),
    routerOptions: { maxParamLength: 500 },
    frameworkErrors: refuse,
    clientErrorHandler: refuseBytes,
  } as const;
  const limits = { headersTimeout: timeouts.headersMs, connectionsCheckingInterval: CHECK_MS };
  const fastify = (tls === undefined
    ? Fastify({ ...options, http: limits })
    : Fastify({ ...options, https: { ...tls, ...limits } })) as unknown as FastifyInstance;
  fastify.removeAllContentTypeParsers();
  const deadline = new BodyDeadline(timeouts.requestMs, refuseBytes);
  fastify.addHook('onRequest', (request, _reply, done) => {
    if (!isStreamed(request)) deadline.begin(request.raw);
    done();
  });
  const budget = new BodyBudget();
  // Any other type, or none.
  fastify.addContentTypeParser('*', (request, payload, done) => {
    if (isStreamed(request)) done(null, payload);
    else done(notJson());
  });
  fastify.addContentTypeParser(['application/json', 'application/a2a+json'], (request, payload, done) => {
    if (isStreamed(request)) return done(null, payload);
    const caller = callerOf(request);
    const rawMost = rawBytes(request);
    const maxBytes = rawMost ?? (caller === undefined ? MAX_OPEN_BODY_BYTES : MAX_BODY_BYTES);
    readBody(payload, { maxBytes, caller, budget }, (error, text = '') => {
      if (error !== null) return done(error);
      if (rawMost !== undefined) return done(null, text);
      try {
        done(null, text === '' ? {} : parseBody(text, caller === undefined ? { maxParts: MAX_OPEN_PARTS } : {}));
      } catch (problem) {
        done(problem as Error);
      }
    });
  });
  return fastify;
}

export function cannotListen(error: NodeJS.ErrnoException, host: string, port: number): Error {
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
        { field: 'host', problem: `this host has no address ${host}` },
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
