/** The program of the renewal thread: opens its own connection and renews the leases of the table, whatever the main loop does. */
import { parentPort, workerData } from 'node:worker_threads';
import { isEngineError } from '../../core/errors.ts';
import type { RenewalAddress, Renewals } from '../../protocol/link.ts';
import { RenewalRounds, roundMs, SILENT_MS } from './renewal-rounds.ts';
import { RenewalTable } from './renewal-table.ts';

export interface ThreadData {
  readonly address: RenewalAddress;
  readonly capacity: number;
  readonly buffer: ArrayBufferLike;
  readonly leaseMs: number;
  readonly maxBlockMs: number;
}

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2000;
/** Time enough to load the module and to connect, on a busy host too. */
const AHEAD_MS = 5000;
const LOOK_MS = 250;

const { address, capacity, buffer, leaseMs, maxBlockMs } = workerData as ThreadData;
const table = new RenewalTable(capacity, buffer);
// Ends only this thread. Until the connection is open there is nothing to close.
const leave = (): void => process.exit();
parentPort?.once('message', leave);
await untilNeeded();
const module = (await import(address.module)) as { openRenewals: (data: unknown) => Promise<Renewals> };
const renewals = await openPatiently();
parentPort?.off('message', leave);
const rounds = new RenewalRounds({
  table,
  renewals,
  leaseMs,
  maxBlockMs,
  now: monotonic,
  notify: (notice) => parentPort?.postMessage(notice),
});
const timer = setInterval(() => void rounds.tick(), roundMs(leaseMs));
parentPort?.once('message', () => {
  clearInterval(timer);
  void renewals.close().then(() => parentPort?.close());
});
parentPort?.postMessage('ready');

/**
 * Waits until a lease is so old that its renewal is near, or is held by a loop that does not beat: until then the loop renews. A module with its
 * driver takes more CPU than a bare thread, and a worker with short tasks never needs it.
 */
async function untilNeeded(): Promise<void> {
  while (!isNeeded()) await new Promise((resolve) => void setTimeout(resolve, LOOK_MS));
}

function isNeeded(): boolean {
  const now = monotonic();
  const oldMs = now - table.beatAt > SILENT_MS ? 0 : leaseMs / 3 - AHEAD_MS;
  for (let i = 0; i < capacity; i++) {
    const held = table.read(i);
    if (held !== undefined && now - held.since >= oldMs) return true;
  }
  return false;
}

/** Waits for a store that is away; until then the loop renews. */
async function openPatiently(): Promise<Renewals> {
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    try {
      return await module.openRenewals(address.data);
    } catch (error) {
      if (!isEngineError(error) || !error.retryable) throw error;
    }
    const wait = pause;
    await new Promise((resolve) => void setTimeout(resolve, wait));
  }
}

/** The clock of all threads and processes of the host, as in app/world.ts. */
function monotonic(): number {
  const [seconds, nanos] = process.hrtime();
  return seconds * 1000 + nanos / 1e6;
}
