import { fault } from '../../../../core/errors.ts';
import type { DutyTenure, DutyTerm } from '../../../store.ts';
import type { Session, Try } from '../../connect/database.ts';
import type { SilentTerms } from './silent-terms.ts';

interface TakeRow {
  readonly epoch: number | null;
  readonly cursor: number | null;
  /** The term before. */
  readonly held: number | null;
  readonly was: number | null;
  readonly left: number | null;
}

export async function takeDuty(
  session: Session,
  name: string,
  holder: string,
  ttlMs: number,
  tried: Try,
  silent: SilentTerms,
): Promise<DutyTenure | undefined> {
  const { epoch = null, until = null } = silent.of(name) ?? {};
  const [row] = await session.all<TakeRow>('dutyTake', [name, holder, ttlMs, epoch, until]);
  const { epoch: taken, cursor, held, was, left } = row as TakeRow;
  if (taken === null && held !== null) silent.note(name, { epoch: held, until: was ?? 0 }, left ?? 0);
  if (taken !== null) return { name, epoch: taken, cursor: cursor as number, vacant: was === null || was === 0 };
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
