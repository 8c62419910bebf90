import { pause } from '../../core/pause.ts';
import type { Engine } from '../../engine/engine.ts';

export interface Recovered {
  /** Tasks whose leases were taken back. */
  readonly recovered: readonly number[];
  /** Expired leases that were not taken back: the reaper waits, for instance after an outage. */
  readonly overdue: number;
}

/** More than can really be overdue at once. */
const MOST = 10_000;
/** Another process may be the reaper: it looks at the earliest expiry, and once a second. */
const PATIENCE_MS = 3000;
const LOOK_MS = 50;

/** Has expired leases taken back by the process that is the reaper. `reap`: a pass of this process, if it is the one. */
export async function recoverStale(engine: Engine, reap: (() => Promise<number>) | undefined): Promise<Recovered> {
  const { store, world } = engine;
  const { leases } = await store.leaseOverdue({ limit: MOST });
  const until = world.clock.monotonic() + PATIENCE_MS;
  for (;;) {
    const passed = await reap?.();
    const records = await store.taskGet({ tasks: leases.map(({ task }) => task) });
    const recovered = leases.filter(
      ({ attempt }, i) => records[i]?.state !== 'running' || records[i]?.attempt !== attempt,
    );
    const done = recovered.length === leases.length || world.clock.monotonic() >= until || passed === 0;
    if (done) return { recovered: recovered.map(({ task }) => task), overdue: leases.length - recovered.length };
    await pause(world.timers, LOOK_MS);
  }
}
