/** A ground whose places also say where the peer of remote workers keeps its jobs. */
import { readPlace, writePlace } from '../contenders/hub/place.ts';
import { treeMicros } from './cpu.ts';
import { openFiles } from './files.ts';
import type { Ground } from './ground.ts';
import { startRedis } from './redis.ts';
import { openServer } from './server.ts';

export async function openHubGround(store: 'sqlite' | 'postgres'): Promise<Ground> {
  const inner = await (store === 'postgres' ? openServer() : openFiles());
  const redis = await startRedis(inner.folder);
  // Without a Redis the peer goes to its other backend.
  const server = redis === undefined ? await (store === 'postgres' ? inner : openServer()) : undefined;
  const peer = redis === undefined ? 'its Postgres backend (no redis-server was found)' : `${redis.version}, defaults`;
  const base = (place: string): string => readPlace(place).base;
  return {
    ...inner,
    version: `${inner.version} · BullMQ on ${peer}`,
    async create(name) {
      const made = await inner.create(name);
      const bullmq =
        redis === undefined
          ? { postgres: await (server as Ground).create(`${name}_peer`) }
          : { redis: redis.url, prefix: name };
      return writePlace({ base: made, store: store === 'postgres' ? made : `sqlite:${made}`, bullmq, queue: 'bench' });
    },
    async remove(place) {
      await inner.remove(base(place));
      const { bullmq } = readPlace(place);
      if ('postgres' in bullmq) await server?.remove(bullmq.postgres);
    },
    analyze: (place) => inner.analyze(base(place)),
    vacuum: (place) => inner.vacuum(base(place)),
    serverMicros: () => inner.serverMicros() + (redis === undefined ? 0 : treeMicros(redis.pid)),
    holdSnapshot: (place) => inner.holdSnapshot(base(place)),
    close() {
      inner.close();
      server?.close();
    },
  };
}
