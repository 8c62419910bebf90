import { pause } from '../../core/pause.ts';
import type { Engine } from '../../engine/engine.ts';
import type { WorkerRecord } from '../../store/store.ts';
import { rosterFor } from './due-housekeeping.ts';

export interface Reaped {
  /** Workers that were marked as lost. */
  readonly lost: readonly string[];
  /** Tasks whose leases were taken back. */
  readonly released: number;
  /** What is still to be reaped: the reaper waits, for instance because the last one has vanished a moment ago. */
  readonly left: number;
}

const LOOK_MS = 100;
const MOST = 10_000;

/**
 * Waits until silent workers are marked as lost, and until expired leases were taken back, by whichever process is the reaper: this one, if
 * nobody else is. Ends early when nothing is left.
 */
export async function reapNow(engine: Engine, patienceMs: number): Promise<Reaped> {
  const { store, world } = engine;
  const before = await lostIn(engine);
  const { leases } = await store.leaseOverdue({ limit: MOST });
  const until = world.clock.monotonic() + patienceMs;
  const roster = rosterFor(engine);
  try {
    for (;;) {
      await roster.tick('reaper');
      const silent = await silentOf(engine);
      const records = await store.taskGet({ tasks: leases.map(({ task }) => task) });
      const held = leases.filter(({ attempt }, i) => {
        const record = records[i];
        return record?.state === 'running' && record.attempt === attempt;
      });
      const left = held.length + silent.length;
      if (left === 0 || world.clock.monotonic() >= until) {
        const lost = [...(await lostIn(engine))].filter(([worker]) => !before.has(worker)).map(([, name]) => name);
        return { lost, released: leases.length - held.length, left };
      }
      await pause(world.timers, LOOK_MS);
    }
  } finally {
    await roster.stop();
  }
}

/** Workers that are to be marked, by the rule of the reaper. */
async function silentOf({ store, workerStaleMs }: Engine): Promise<readonly WorkerRecord[]> {
  const { now, members } = await store.workerFleet();
  return members.filter(({ seenAt, staleMs, beatMs = 0 }) => {
    return seenAt < now - (staleMs ?? Math.max(workerStaleMs, 2 * beatMs));
  });
}

async function lostIn({ store }: Engine): Promise<ReadonlyMap<number, string>> {
  return new Map((await store.workerList({ state: 'lost' })).map(({ worker, name }) => [worker, name]));
}
