/** The program of the renewal thread: opens its own link and renews what the table says, whatever the main loop does. */
import { parentPort, workerData } from 'node:worker_threads';
import type { RenewalAddress, Renewals } from './link.ts';
import { Rounds, roundMs } from './renewal-rounds.ts';
import { RenewalTable } from './renewal-table.ts';

export interface ThreadData {
  readonly address: RenewalAddress;
  readonly capacity: number;
  readonly buffer: ArrayBufferLike;
  readonly leaseMs: number;
  readonly maxBlockMs: number;
}

const { address, capacity, buffer, leaseMs, maxBlockMs } = workerData as ThreadData;
const module = (await import(address.module)) as { openRenewals: (data: unknown) => Promise<Renewals> };
const renewals = await module.openRenewals(address.data);
const rounds = new Rounds({
  table: new RenewalTable(capacity, buffer),
  renewals,
  leaseMs,
  maxBlockMs,
  now: monotonic,
  tell: (news) => parentPort?.postMessage(news),
});
const timer = setInterval(() => void rounds.tick(), roundMs(leaseMs));
parentPort?.once('message', () => {
  clearInterval(timer);
  void renewals.close().then(() => parentPort?.close());
});
parentPort?.postMessage('ready');

/** The clock of all threads and processes of the host, as in app/world.ts. */
function monotonic(): number {
  const [seconds, nanos] = process.hrtime();
  return seconds * 1000 + nanos / 1e6;
}
