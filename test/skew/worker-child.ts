/** A worker with the handlers of these tests that joins a node, over a WebSocket or over plain HTTP. */
import { join } from 'node:path';
import { makeWorker } from '../../src/app/worker.ts';
import { realWorld } from '../../src/app/world.ts';
import { HttpLink } from '../../src/worker/links/http-link.ts';
import { WsLink } from '../../src/worker/links/ws-link.ts';
import { handlersIn } from './handlers.ts';
import { givenOptions, OUTPUT, say, stopRequested } from './program.ts';

export interface WorkerOptions {
  readonly url: string;
  readonly name: string;
  readonly secret: string;
  /** Plain requests instead of a WebSocket. */
  readonly http: boolean;
  /** Where its handlers leave traces, and where unsent results are kept for the next start. */
  readonly folder: string;
}

const { url, name, secret, http, folder } = givenOptions<WorkerOptions>();
const stopping = stopRequested();
const world = realWorld();
const options = { url, secret, world, log: OUTPUT, spool: join(folder, 'spool') };
const link = http ? new HttpLink(options) : new WsLink(options);
const worker = makeWorker({ tasks: handlersIn(folder), name }, { link, world, log: OUTPUT, name });
await worker.start();
say({ started: name });
await stopping;
await worker.stop();
