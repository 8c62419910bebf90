import type { IncomingMessage } from 'node:http';
import type { FastifyReply } from 'fastify';

/** A signal that comes when the caller has hung up, or has its answer. A connection serves many requests, so each listens on its own answer. */
export function hangUpOf({ raw }: FastifyReply): AbortSignal {
  const hangUp = new AbortController();
  raw.once('close', () => hangUp.abort());
  if (raw.destroyed || raw.req.socket.destroyed) hangUp.abort();
  return hangUp.signal;
}

/** The rest of a refused request is thrown away for this long, so that its caller can read why it was refused. */
const LINGER_MS = 2000;
/** No more than this of it: somebody who pours as fast as it is read would take the event loop for that time. */
const LINGER_BYTES = 64 * 1024;

/** Ends the connection of a refused request whose body does not end. */
export function endUnread(request: IncomingMessage): void {
  if (request.complete) return;
  let left = LINGER_BYTES;
  request.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    // What comes now stays in the buffers of the system until the connection ends.
    if (left < 0) request.pause();
  });
  const late = setTimeout(() => request.socket.destroy(), LINGER_MS).unref();
  request.once('close', () => clearTimeout(late)).once('end', () => clearTimeout(late));
}
