import type { FastifyRequest } from 'fastify';

/** Comes when whoever asked has hung up. */
export function hangUpOf({ raw }: FastifyRequest): AbortSignal {
  const gone = new AbortController();
  raw.socket.once('close', () => gone.abort());
  if (raw.socket.destroyed) gone.abort();
  return gone.signal;
}
