import { statSync } from 'node:fs';
import type { DutyName } from '../engine/duties/roster.ts';
import { serveHealth } from '../server/health.ts';
import type { QueueRecord } from '../store/store.ts';
import { type Node, type NodeOptions, openNode } from './node.ts';

export interface ServeOptions extends NodeOptions {
  readonly store: string;
  readonly host: string;
  readonly port: number;
}

/** What a person who watches a node wants to know at a glance. */
export interface Glance {
  readonly queues: readonly QueueRecord[];
  /** The duties that this process holds. */
  readonly duties: readonly DutyName[];
  /** The size of the store's files; undefined when it has none. */
  readonly storeBytes: number | undefined;
}

/** A node that answers over HTTP. */
export interface Service {
  readonly node: Node;
  readonly address: string;
  glance(): Promise<Glance>;
  close(): Promise<void>;
}

export async function serve(options: ServeOptions): Promise<Service> {
  // The address first: a second start on the same port, or a host that is refused, should leave no file behind.
  const { store, host: _host, port: _port, ...nodeOptions } = options;
  const health = await serveHealth(options);
  const node = await openNode(store, nodeOptions).catch(async (error: unknown) => {
    await health.close();
    throw error;
  });
  return {
    node,
    address: health.address,
    glance: async () => ({
      queues: await node.engine.queues(),
      duties: node.roster.held(),
      storeBytes: storeBytes(store),
    }),
    async close() {
      await health.close();
      await node.close();
    },
  };
}

/** The database and its log; either may be missing for a moment. */
function storeBytes(url: string): number | undefined {
  if (!url.startsWith('sqlite:')) return undefined;
  const file = url.slice('sqlite:'.length);
  const sizes = [file, `${file}-wal`].map((path) => statSync(path, { throwIfNoEntry: false })?.size ?? 0);
  return sizes.reduce((sum, size) => sum + size, 0);
}
