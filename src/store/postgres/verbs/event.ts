import { fault } from '../../../core/errors.ts';
import type { TaskEvent } from '../../../core/event.ts';
import { CHANGES, type Change } from '../../../core/task.ts';
import { stateOf } from '../../codes.ts';
import type { DutyTerm, EventPage, NumberAnswer } from '../../store.ts';
import type { Session } from '../database.ts';

interface EventRow {
  readonly seq: number;
  readonly n: number;
  readonly at: number;
  readonly queue: number;
  readonly kind: number;
  readonly state: number;
  readonly ids: readonly number[];
  readonly attempts: readonly number[];
  readonly born: readonly number[];
}

/**
 * One statement reads everything that decides, so that a pruner cannot come in between. It begins with the row that holds
 * the number after `after`, or the newest one before it.
 */
export async function readEvents(session: Session, after: number, limit: number): Promise<EventPage> {
  const rows = await session.all<EventRow>('eventRead', [after + 1, limit + 1]);
  const first = rows[0] as EventRow;
  const newest = rows.at(-1) as EventRow;
  const ahead = newest.seq + newest.n - 1 < after; // of a store that was restored from a backup
  if (ahead) return { events: [], reset: true, last: newest.seq + newest.n - 1 };
  const events: TaskEvent[] = [];
  const names = new Map((await session.rows('queueNames', [])) as readonly (readonly [number, string])[]);
  for (const row of rows) {
    if (row.seq === 0) continue; // the founding row stands for no event
    for (let i = Math.max(0, after + 1 - row.seq); i < row.n && events.length < limit; i++) {
      events.push({
        seq: row.seq + i,
        at: row.at,
        queue: names.get(row.queue) ?? '',
        change: CHANGES[row.kind] as Change,
        state: stateOf(row.state),
        task: row.ids[i] as number,
        attempt: (row.attempts[i] ?? row.attempts[0]) as number,
        createdAt: (row.born[i] ?? row.born[0]) as number,
      });
    }
    if (events.length >= limit) break;
  }
  return { events, reset: first.seq > after + 1, last: events.at(-1)?.seq ?? after };
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
