/** What the renewal thread of a worker on Postgres loads: the driver and one statement. */
import type { Lease } from '../../core/task/lease.ts';
import type { RenewalAnswer, Renewals } from '../../protocol/link.ts';
import { openPostgresRenewals } from '../../store/postgres/renewals.ts';
import { realWorld } from '../world.ts';
import type { DirectRenewalData } from './direct-renewals.ts';

export async function openRenewals(data: unknown): Promise<Renewals> {
  const { url } = data as DirectRenewalData;
  const store = await openPostgresRenewals(url, realWorld());
  return {
    async renew(leases: readonly Lease[], leaseMs: number): Promise<readonly RenewalAnswer[]> {
      const items = leases.map(({ task, attempt }) => ({ task, attempt, ttlMs: leaseMs }));
      const answers = await store.leaseRenew({ items });
      return answers.map((answer) => (answer.held ? (answer.cancelRequested ? 'cancel' : 'held') : 'lost'));
    },
    /** Rare, and the rule for what becomes of a failed attempt is the engine's: that is loaded now. */
    async blocked(lease: Lease, afterMs: number): Promise<void> {
      const whole = await (await import('./direct-renewals.ts')).openRenewals(data);
      try {
        await whole.blocked(lease, afterMs);
      } finally {
        await whole.close();
      }
    },
    close: () => store.close(),
  };
}
