import { fault } from '../../../../core/errors.ts';
import type { DutyTenure, DutyTerm } from '../../../store.ts';
import type { Session, Try } from '../../connect/database.ts';

export async function takeDuty(
  session: Session,
  name: string,
  holder: string,
  ttlMs: number,
  tried: Try,
): Promise<DutyTenure | undefined> {
  const [row] = await session.all<{ epoch: number; cursor: number; was: number | null }>('dutyTake', [
    name,
    holder,
    ttlMs,
  ]);
  if (row !== undefined)
    return { name, epoch: row.epoch, cursor: row.cursor, vacant: row.was === null || row.was === 0 };
  if (!tried.again) return undefined;
  // An earlier try of this call may have taken it. Whether the duty was vacant then is no longer known.
  const [mine] = await session.all<{ epoch: number; cursor: number }>('dutyMine', [name, holder]);
  return mine && { name, epoch: mine.epoch, cursor: mine.cursor, vacant: false };
}

export async function renewDuty(session: Session, { name, epoch }: DutyTerm, ttlMs: number): Promise<boolean> {
  return (await session.rows('dutyRenew', [name, epoch, ttlMs])).length > 0;
}

export async function releaseDuty(session: Session, { name, epoch }: DutyTerm): Promise<void> {
  await session.rows('dutyRelease', [name, epoch]);
}

/**
 * Opens each transaction of a duty. A deposed holder changes nothing, and the duty cannot be taken over before the
 * commit. Returns the duty's cursor.
 */
export async function requireDuty(session: Session, duty: DutyTerm): Promise<number> {
  const [row] = await session.all<{ cursor: number }>('dutyHeld', [duty.name, duty.epoch]);
  return requireRow(duty, row).cursor;
}

/** For statements that lock the duty's row themselves and return no row if the caller does not hold it. */
export function requireRow<T>({ name, epoch }: DutyTerm, row: T | undefined): T {
  if (row === undefined) throw fault('DUTY_LOST', { duty: name, epoch });
  return row;
}
