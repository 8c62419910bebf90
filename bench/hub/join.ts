/** A worker of this engine over a WebSocket, with tasks of the bench instead of those that come with it. */
import { type AppWorkerOptions, makeWorker } from '../../src/app/worker.ts';
import { realWorld } from '../../src/app/world.ts';
import { WsLink } from '../../src/worker/links/ws-link.ts';
import type { Worker } from '../../src/worker/worker.ts';
import type { Enrolled } from '../contenders/hub/enrol.ts';

const say = (message: string, fields?: object): void => console.error(message, fields ?? '');
/** A broken connection is part of some scenes; what goes wrong beside it is told. */
const LOG = { info: () => {}, warn: () => {}, error: say };

/** `others`: where it goes when the node at the address is away. */
export function joinNode(
  address: string,
  { name, secret }: Enrolled,
  options: AppWorkerOptions,
  others: readonly string[] = [],
): Worker {
  const world = realWorld();
  const link = new WsLink({ url: address, others, secret, world, log: LOG });
  return makeWorker(options, { link, world, log: LOG, name });
}
