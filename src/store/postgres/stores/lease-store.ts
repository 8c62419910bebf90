import type { DutyTerm, LeaseStore, ReapAnswer, ReapItem } from '../../store.ts';
import { attemptWorkers, cancelledLeases, listLeases, overdueLeases, reapLeases } from '../verbs/queue/lease.ts';
import { renewLeases } from '../verbs/queue/renew.ts';
import type { StoreParts } from './store-parts.ts';

export function leaseStore(parts: StoreParts): LeaseStore {
  const { calls } = parts;
  return {
    leaseRenew: ({ items }) => calls.urgently((session) => renewLeases(session, items)),
    leaseCancels: ({ holder }) => calls.run((session) => cancelledLeases(session, holder)),
    leaseList: ({ holders }) => calls.run((session) => listLeases(session, holders)),
    attemptWorkers: ({ items }) => calls.run((session) => attemptWorkers(session, items)),
    leaseOverdue: ({ limit }) => calls.run((session) => overdueLeases(session, limit)),
    leaseReap: ({ duty, items }) => reap(parts, duty, items),
  };
}

async function reap({ calls, hints }: StoreParts, duty: DutyTerm, items: readonly ReapItem[]): Promise<ReapAnswer> {
  const { answer, left } = await calls.run((session) => reapLeases(session, duty, items));
  hints.ready(answer.lanes);
  if (left.length === 0) return answer;
  const rest = await calls.waking((session, woken) => reapLeases(session, duty, left, woken));
  hints.ready(rest.answer.lanes);
  return {
    reaped: answer.reaped + rest.answer.reaped,
    lanes: [...new Set([...answer.lanes, ...rest.answer.lanes])],
  };
}
