import type { FastifyReply } from 'fastify';

/** A signal that comes when the caller has hung up, or has its answer. A connection serves many requests, so each listens on its own answer. */
export function hangUpOf({ raw }: FastifyReply): AbortSignal {
  const hangUp = new AbortController();
  raw.once('close', () => hangUp.abort());
  if (raw.destroyed || raw.req.socket.destroyed) hangUp.abort();
  return hangUp.signal;
}
