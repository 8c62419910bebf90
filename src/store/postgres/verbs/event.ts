import { fault } from '../../../core/errors.ts';
import { type EventRow, pageOf } from '../../records.ts';
import type { DutyTerm, EventPage, NumberAnswer } from '../../store.ts';
import type { Session } from '../database.ts';

/** One statement reads everything that decides, so that a pruner cannot come in between. */
export async function readEvents(session: Session, after: number, limit: number): Promise<EventPage> {
  const rows = await session.all<EventRow>('eventRead', [after + 1, limit + 1]);
  const names = new Map((await session.rows('queueNames', [])) as readonly (readonly [number, string])[]);
  return pageOf(rows, names, after, limit);
}

export async function numberEvents(session: Session, duty: DutyTerm, limit: number): Promise<NumberAnswer> {
  const [row] = await session.all<{ held: number | null; rows: number; events: number }>('sequence', [
    duty.name,
    duty.epoch,
    limit,
  ]);
  if (row === undefined || row.held === null) throw fault('DUTY_LOST', { duty: duty.name, epoch: duty.epoch });
  return { events: row.events, more: row.rows === limit };
}
