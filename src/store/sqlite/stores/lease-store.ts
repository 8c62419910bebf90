import type { LeaseStore, Overdue } from '../../store.ts';
import { requireDuty } from '../verbs/admin/duty.ts';
import {
  attemptWorker,
  cancelledLeases,
  firstExpiry,
  listLeases,
  overdueLeases,
  reapLeases,
  renewLease,
} from '../verbs/queue/lease.ts';
import { msUntil } from '../verbs/queue/stage.ts';
import type { StoreParts } from './store-parts.ts';

export function leaseStore(parts: StoreParts): LeaseStore {
  const { calls, writer } = parts;
  return {
    leaseRenew: ({ items }) => writer.write('settle', (tx) => items.map((item) => renewLease(tx, item))),
    leaseCancels: ({ holder }) => writer.read(({ sql }) => cancelledLeases(sql, holder)),
    leaseList: ({ holders }) => writer.read(({ sql }) => listLeases(sql, holders)),
    attemptWorkers: ({ items }) => writer.read(({ sql }) => items.map((item) => attemptWorker(sql, item))),
    leaseOverdue: ({ limit }) => overdue(parts, limit),
    leaseReap: ({ duty, items }) =>
      calls.waking('rest', (tx) => {
        requireDuty(tx, duty);
        return reapLeases(tx, items);
      }),
  };
}

async function overdue({ calls, writer }: StoreParts, limit: number): Promise<Overdue> {
  const first = await calls.again('firstExpiry', '', ({ sql }) => firstExpiry(sql));
  const now = writer.clock.lease();
  if (first === undefined || first >= now) return { leases: [], nextInMs: msUntil(first, now) };
  return writer.read(({ sql }) => overdueLeases(sql, writer.clock.lease(), limit));
}
