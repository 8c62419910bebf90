/** The contenders of the hub suite: remote workers, the same workers beside their store, and a peer. */
import { bullmq } from '../bullmq.ts';
import type { Contender } from '../contender.ts';
import { library } from '../library.ts';
import { postgresBackend } from '../postgres/bullmq-backend.ts';
import { HUB, hub } from './hub.ts';
import { readPlace } from './place.ts';

/** The column that ratios refer to. */
export const DIRECT = 'direct';
export const BULLMQ = 'bullmq';
export { HUB };

/** Of a worker process on Redis. 16 to 200 were tried with four of them: more was no faster. */
const REDIS_SLOTS = 50;

export const contenders: readonly Contender[] = [
  hub,
  {
    ...library({ url: (place) => readPlace(place).store, without: [], queue: (place) => readPlace(place).queue }),
    name: DIRECT,
  },
  bullmq({
    name: BULLMQ,
    drainTasks: 10_000,
    warmTasks: 800,
    backend: async (place) => {
      const found = readPlace(place).bullmq;
      if ('postgres' in found) return postgresBackend(found.postgres);
      const { hostname: host, port } = new URL(found.redis);
      const connection = { host, port: Number(port) };
      return { options: { connection, prefix: found.prefix }, slots: REDIS_SLOTS, postgres: false };
    },
  }),
];
