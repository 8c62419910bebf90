import type { Engine } from '../../engine/engine.ts';
import type { TaskRecord } from '../../engine/records.ts';
import { time } from './view.ts';

/** Who has a task, or had it last. */
export interface Holder {
  /** What the token of the lease begins with. The token itself is known to its node alone. */
  readonly lease_id: string | null;
  readonly lease_expires_at: string | null;
  readonly last_assigned_node: string | null;
}

export const NOBODY: Holder = { lease_id: null, lease_expires_at: null, last_assigned_node: null };

export async function holdersOf(engine: Engine, records: readonly TaskRecord[]): Promise<readonly Holder[]> {
  const { store } = engine;
  const had = await store.attemptWorkers({ items: records.map(({ task, attempt }) => ({ task, attempt })) });
  // Expiries are in lease time, which nobody can set. People read calendar time.
  const { calendar, lease } = await store.clock();
  return records.map(({ task, attempt, state, leaseUntil }, i) => ({
    lease_id: state === 'running' ? `${task}.${attempt}` : null,
    lease_expires_at: leaseUntil === undefined ? null : time(Math.round(leaseUntil + calendar - lease)),
    last_assigned_node: had[i]?.name ?? null,
  }));
}
