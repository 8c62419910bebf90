import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { CATALOGUE, type EngineError, fault, isEngineError } from '../../core/errors.ts';
import { MAX_OPEN_BODY_BYTES } from './body-reader.ts';

/** The error that a caller sees. Errors of the catalogue pass; of all others the text is hidden, because it may hold secrets. */
export function errorOf(thrown: unknown): EngineError {
  if (isEngineError(thrown)) return isOfTheStore(thrown) ? bare(thrown) : thrown;
  const { code, statusCode } = (thrown ?? {}) as { readonly code?: unknown; readonly statusCode?: unknown };
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return fault('TOO_LARGE', { field: 'body', maxBytes: MAX_OPEN_BODY_BYTES });
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return notJson();
    default: {
      const refused = typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500;
      return refused
        ? fault('INVALID_INPUT', { field: 'request', problem: 'it is not well formed' }, { cause: thrown })
        : fault('INTERNAL', { problem: 'the request could not be answered' }, { cause: thrown, hint: IN_THE_LOG });
    }
  }
}

export function notJson(): EngineError {
  return fault('INVALID_INPUT', { field: 'Content-Type', problem: 'a body is application/json' });
}

/**
 * The message is bounded, the details are not. Details of bad input would send a long text back. The ids of stored tasks are not the
 * caller's text, and there are at most as many as the request had tasks.
 */
const MOST_DETAILS = 2000;

export function problemText(error: EngineError): string {
  const { details, ...rest } = error.toJSON();
  const { pushed: _pushed, ...said } = details ?? {};
  const fits = details !== undefined && JSON.stringify(said).length <= MOST_DETAILS;
  return JSON.stringify({ error: fits ? { ...rest, details } : rest });
}

/** The message quotes a driver or the operating system: names of files, tables and servers. The log has it. */
function isOfTheStore({ code, cause }: EngineError): boolean {
  return CATALOGUE[code].family === 'environment' && cause !== undefined;
}

function bare({ code, cause }: EngineError): EngineError {
  return fault(code, undefined, { cause, ...(code === 'INTERNAL' ? { hint: IN_THE_LOG } : {}) });
}

const IN_THE_LOG =
  'This is a defect in leasehold. The log of the node has the rest, under the x-request-id of this answer.';

/** Answers bytes that are not an HTTP request. */
export function refuseBytes(error: NodeJS.ErrnoException, socket: Socket): void {
  const status = { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 }[error.code ?? ''] ?? 400;
  const { code, message, hint } = fault('INVALID_INPUT', { field: 'request', problem: 'it is not well formed' });
  const body = JSON.stringify({ error: { code, message, hint } });
  const head = `Content-Type: application/json; charset=utf-8\r\nContent-Length: ${body.length}\r\nConnection: close`;
  // A caller that hung up gets nothing. The socket is destroyed either way.
  if (socket.writable) socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head}\r\n\r\n${body}`);
  socket.destroy(error);
}

export function noPage({ method, url }: FastifyRequest): EngineError {
  // The rest of such a path may be the secret of an agent, which must not appear in an answer that ends up in a log.
  const path = url.startsWith('/ws/') ? '/ws/…' : url.split('?', 1)[0];
  return fault(
    'NOT_FOUND',
    { kind: 'page', id: `${method} ${path}` },
    { hint: 'GET /openapi.json lists what there is.' },
  );
}

export function notOpen(): EngineError {
  return fault('STORE_UNAVAILABLE', { problem: 'this node is opening its store, or closing' });
}

export function stackOf(thrown: unknown): string {
  return thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
}

/** For the header `retry-after`: whole seconds, at least one. */
export function secondsOf(ms: unknown): number {
  return typeof ms === 'number' ? Math.max(1, Math.ceil(ms / 1000)) : 1;
}
