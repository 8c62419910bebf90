/** What the renewal thread of a worker on SQLite loads: a store and an engine of its own. On Postgres it is postgres-renewals.ts. */
import { fault } from '../../core/errors.ts';
import type { Lease } from '../../core/task/lease.ts';
import { Engine } from '../../engine/engine.ts';
import type { RenewalAnswer, Renewals } from '../../protocol/link.ts';
import { openStore, type StoreOptions } from '../store-url.ts';
import { realWorld } from '../world.ts';

export interface DirectRenewalData {
  readonly url: string;
  readonly durability: StoreOptions['durability'];
}

export async function openRenewals(data: unknown): Promise<Renewals> {
  const { url, durability } = data as DirectRenewalData;
  const world = realWorld();
  const store = await openStore(url, {
    world,
    housekeeping: false,
    ...(durability === undefined ? {} : { durability }),
  });
  const engine = new Engine({ store, world });
  return {
    async renew(leases: readonly Lease[], leaseMs: number): Promise<readonly RenewalAnswer[]> {
      const items = leases.map(({ task, attempt }) => ({ task, attempt, ttlMs: leaseMs }));
      const answers = await store.leaseRenew({ items });
      return answers.map((answer) => (answer.held ? (answer.cancelRequested ? 'cancel' : 'held') : 'lost'));
    },
    async blocked({ task, attempt }: Lease, afterMs: number): Promise<void> {
      // Only the body of the error: the stack of this thread would help nobody, and the code would be missing.
      await engine.fail({ task, attempt }, fault('LOOP_BLOCKED', { afterMs }).toJSON());
    },
    close: () => store.close(),
  };
}
