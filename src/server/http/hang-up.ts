import type { FastifyRequest } from 'fastify';

/** Comes when whoever asked has hung up. */
export function hangUpOf({ raw }: FastifyRequest): AbortSignal {
  const hangUp = new AbortController();
  raw.socket.once('close', () => hangUp.abort());
  if (raw.socket.destroyed) hangUp.abort();
  return hangUp.signal;
}
