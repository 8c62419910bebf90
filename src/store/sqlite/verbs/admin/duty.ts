import { fault } from '../../../../core/errors.ts';
import type { DutyTenure, DutyTerm } from '../../../store.ts';
import type { Transaction } from '../../file/transaction.ts';

export function takeDuty(tx: Transaction, name: string, holder: string, ttlMs: number): DutyTenure | undefined {
  const before = tx.sql.get('dutyGet').get(name) as { until: number } | undefined;
  const row = tx.sql.get('dutyTake').get(name, holder, tx.leaseNow + ttlMs, tx.leaseNow) as
    | { epoch: number; cursor: number }
    | undefined;
  return row && { name, epoch: row.epoch, cursor: row.cursor, vacant: before === undefined || before.until === 0 };
}

export interface Renewal {
  readonly duty: DutyTerm;
  readonly ttlMs: number;
}

/** Returns whether a renewal was held, and is for longer now. */
export function renewDuties(tx: Transaction, renewals: readonly Renewal[]): (renewal: Renewal) => boolean {
  const asked = JSON.stringify(renewals.map(({ duty, ttlMs }) => [duty.name, duty.epoch, ttlMs]));
  const rows = tx.sql.get('dutyRenew').all(asked, tx.leaseNow) as unknown as DutyTerm[];
  return ({ duty }) => rows.some(({ name, epoch }) => name === duty.name && epoch === duty.epoch);
}

export function releaseDuty(tx: Transaction, duty: DutyTerm): void {
  tx.sql.get('dutyRelease').run(duty.name, duty.epoch);
}

/** Opens each write of a duty: a deposed holder changes nothing. Returns the duty's cursor. */
export function requireDuty(tx: Pick<Transaction, 'sql'>, duty: DutyTerm): number {
  const row = tx.sql.get('dutyHeld').get(duty.name, duty.epoch) as { cursor: number } | undefined;
  if (row === undefined) throw fault('DUTY_LOST', { duty: duty.name, epoch: duty.epoch });
  return row.cursor;
}
