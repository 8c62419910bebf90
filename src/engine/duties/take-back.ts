import { afterExpiry } from '../../core/task/lease.ts';
import type { DutyTenure, OverdueLease, ReapItem } from '../../store/store.ts';
import type { Engine } from '../engine.ts';
import { readSpec } from '../push/spec.ts';

/** Takes back expired leases, as the holder of a duty: their tasks run again or end. Answers how many were taken back. */
export async function takeBack(engine: Engine, duty: DutyTenure, leases: readonly OverdueLease[]): Promise<number> {
  const items = await Promise.all(leases.map((lease) => reapItemOf(engine, lease)));
  const { reaped, lanes } = await engine.store.leaseReap({ duty, items });
  for (const lane of lanes) engine.readyLanes.mark(lane);
  if (reaped > 0) {
    engine.changed();
    engine.expired(items, reaped);
  }
  return reaped;
}

async function reapItemOf(engine: Engine, lease: OverdueLease): Promise<ReapItem> {
  const { retry } = readSpec(await engine.interner.specBody(lease.spec));
  const verdict = afterExpiry(lease, retry, engine.world.random());
  const { task, attempt } = lease;
  return verdict.to === 'again'
    ? { task, attempt, to: 'again', reason: 'none', delayMs: verdict.delayMs }
    : { task, attempt, to: verdict.to, reason: verdict.reason, delayMs: 0 };
}
