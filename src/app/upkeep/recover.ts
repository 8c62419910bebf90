import type { Engine } from '../../engine/engine.ts';

export interface Recovered {
  /** Tasks that were taken back. */
  readonly recovered: readonly number[];
  /** Leases that have run out and were not taken back: the reaper waits, after an outage for one. */
  readonly overdue: number;
}

/** More than can be overdue at once in earnest. */
const MOST = 10_000;
/** Another process may be the reaper: it looks at the earliest expiry, and once a second. */
const PATIENCE_MS = 3000;
const LOOK_MS = 50;

/** Has overdue leases taken back, by whoever is the reaper; `reap` is a pass of this process, if it is. */
export async function recoverStale(engine: Engine, reap: (() => Promise<number>) | undefined): Promise<Recovered> {
  const { store, world } = engine;
  const { leases } = await store.leaseOverdue({ limit: MOST });
  const until = world.clock.monotonic() + PATIENCE_MS;
  for (;;) {
    const passed = await reap?.();
    const records = await store.taskGet({ tasks: leases.map(({ task }) => task) });
    const back = leases.filter(({ attempt }, i) => records[i]?.state !== 'running' || records[i]?.attempt !== attempt);
    const over = back.length === leases.length || world.clock.monotonic() >= until || passed === 0;
    if (over) return { recovered: back.map(({ task }) => task), overdue: leases.length - back.length };
    await new Promise<void>((resolve) => void world.timers.after(LOOK_MS, resolve));
  }
}
