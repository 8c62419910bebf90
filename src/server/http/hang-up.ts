import type { FastifyRequest } from 'fastify';

/** A signal that comes when the caller has hung up. */
export function hangUpOf({ raw }: FastifyRequest): AbortSignal {
  const hangUp = new AbortController();
  raw.socket.once('close', () => hangUp.abort());
  if (raw.socket.destroyed) hangUp.abort();
  return hangUp.signal;
}
