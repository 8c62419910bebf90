/** Workers of this engine behind a node, over WebSockets. Tasks are pushed on the store itself, as with the direct link. */
import type { AppWorkerOptions } from '../../../src/app/worker.ts';
import type { App } from '../../../src/index.ts';
import type { Worker } from '../../../src/worker/worker.ts';
import type { Contender } from '../contender.ts';
import { LibraryQueue } from '../library.ts';
import { type HubPlace, readPlace } from './place.ts';

/** The targets and the scenes look it up by its name. */
export const HUB = 'hub';

export const hub: Contender = {
  name: HUB,
  drainTasks: 40_000,
  async open(text) {
    const place = readPlace(text);
    let app: Promise<App> | undefined;
    return LibraryQueue.open({
      queue: place.queue,
      app: () => (app ??= openApp(place)),
      makeWorker: (options) => remoteWorker(place, options),
      close: async () => await (await app)?.close(),
    });
  },
};

/** Without duties: those are the node's. */
async function openApp({ store }: HubPlace): Promise<App> {
  const { open } = await import('../../../src/index.ts');
  return open(store, { duties: false });
}

let workers = 0;

async function remoteWorker({ node, queue }: HubPlace, options: AppWorkerOptions): Promise<Worker> {
  if (node === undefined) throw new Error('there is no node in this place');
  const { enrol } = await import('./enrol.ts');
  const { joinNode } = await import('../../hub/join.ts');
  const credentials = await enrol(node, `bench-${process.pid}-${++workers}`);
  return joinNode(node.address, credentials, { ...options, queues: [queue] });
}
