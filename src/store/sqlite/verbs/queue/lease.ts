import type { Lease } from '../../../../core/task/lease.ts';
import { isFinal } from '../../../../core/task/task.ts';
import { METERED, reasonCode, stateCode, WATCHED } from '../../../codes.ts';
import { type AttemptWorkerRow, attemptWorkerOf } from '../../../rows/records.ts';
import type { AttemptWorker, HeldTask, Overdue, ReapAnswer, ReapItem, RenewAnswer, RenewItem } from '../../../store.ts';
import { noteLeaseTime } from '../../file/clock.ts';
import type { Prepared } from '../../file/connection.ts';
import type { Transaction } from '../../file/transaction.ts';
import { giveBack } from '../trees/budget.ts';
import { countDown } from '../trees/countdown.ts';
import { recordAttempt } from './settle.ts';

/** Expiry is not checked: a lease lives until the reaper has taken it. */
export function renewLease(tx: Transaction, item: RenewItem): RenewAnswer {
  const leaseUntil = tx.leaseNow + item.ttlMs;
  const row = tx.sql.get('renew').get(leaseUntil, item.task, item.attempt) as { cancel_at: number | null } | undefined;
  return row === undefined ? { held: false } : { held: true, leaseUntil, cancelRequested: row.cancel_at !== null };
}

export function cancelledLeases(sql: Prepared, holder: number): readonly Lease[] {
  const rows = sql.get('cancels').all(holder) as unknown as { id: number; attempt: number }[];
  return rows.map(({ id, attempt }) => ({ task: id, attempt }));
}

export function listLeases(sql: Prepared, holders: readonly number[] | undefined): readonly HeldTask[] {
  const rows = (holders === undefined
    ? sql.get('held').all()
    : holders.flatMap((holder) => sql.get('heldBy').all(holder))) as unknown as {
    id: number;
    attempt: number;
    holder: number;
    created_at: number;
  }[];
  // The index is ordered by holder.
  return rows
    .map(({ id, attempt, holder, created_at }) => ({ task: id, attempt, holder, createdAt: created_at }))
    .sort((a, b) => a.task - b.task);
}

export function attemptWorker(sql: Prepared, { task, attempt }: Lease): AttemptWorker | undefined {
  const row = sql.get('attemptWorker').get(task, attempt) as AttemptWorkerRow | undefined;
  return row && attemptWorkerOf(row);
}

/** When the first lease expires, in lease time. */
export function firstExpiry(sql: Prepared): number | undefined {
  return (sql.get('firstExpiry').get() as { at: number | null }).at ?? undefined;
}

export function overdueLeases(sql: Prepared, leaseNow: number, limit: number): Overdue {
  const rows = sql.get('overdue').all(leaseNow, limit) as unknown as {
    id: number;
    attempt: number;
    spec: number;
    tries: number;
    max_tries: number;
    cancel_at: number | null;
  }[];
  const next = sql.get('nextExpiry').get(leaseNow) as { at: number | null };
  return {
    leases: rows.map((row) => ({
      task: row.id,
      attempt: row.attempt,
      spec: row.spec,
      tries: row.tries,
      maxTries: row.max_tries,
      cancelRequested: row.cancel_at !== null,
    })),
    nextInMs: next.at === null ? undefined : Math.max(0, next.at - leaseNow),
  };
}

interface OverdueRow {
  readonly lane: number;
  readonly created_at: number;
  readonly holder: number | null;
  readonly started_at: number | null;
  readonly cancel_at: number | null;
  readonly flags: number;
}

/** The takeover: from this commit on the old attempt is refused. */
export function reapLeases(tx: Transaction, items: readonly ReapItem[]): ReapAnswer {
  noteLeaseTime(tx.sql, tx.leaseNow, tx.now);
  const lanes = new Set<number>();
  let reaped = 0;
  for (const item of items) {
    const row = tx.sql.get('reapLook').get(item.task, item.attempt, tx.leaseNow) as OverdueRow | undefined;
    if (row === undefined) continue;
    // The request may have come after the reaper's read.
    const cancelled = row.cancel_at !== null;
    const again = item.to === 'again' && !cancelled;
    const to = cancelled ? 'cancelled' : item.to === 'again' ? (item.delayMs > 0 ? 'scheduled' : 'ready') : item.to;
    const reason = cancelled ? 'requested' : item.reason;
    const { changes } = again
      ? tx.sql.get('reapAgain').run(stateCode(to), tx.now + item.delayMs, item.task, item.attempt, tx.leaseNow)
      : tx.sql.get('reapEnd').run(stateCode(to), reasonCode(reason), tx.now, item.task, item.attempt, tx.leaseNow);
    if (changes === 0) continue;
    if (to === 'ready') lanes.add(row.lane);
    recordAttempt(tx, item.task, item.attempt, row.holder, row.started_at, 'expired');
    const { queue, uses } = tx.laneOf(row.lane);
    tx.counters.give(uses);
    tx.ledger.note(queue, 'expired', 'running', to, item.task, item.attempt, row.created_at);
    if (row.flags & WATCHED && isFinal(to)) countDown(tx, item.task, to);
    if (row.flags & METERED) giveBack(tx, item.task, true);
    reaped++;
  }
  return { reaped, lanes: [...lanes] };
}
