import { type EventRow, pageOf } from '../../records.ts';
import type { EventPage } from '../../store.ts';
import type { Prepared } from '../connection.ts';

type Packed = Omit<EventRow, 'ids' | 'attempts' | 'born'> & Readonly<Record<'ids' | 'attempts' | 'born', string>>;

/** One statement reads everything that decides, so that a pruner in another process cannot come in between. */
export function readEvents(sql: Prepared, after: number, limit: number): EventPage {
  const rows = sql.get('eventRead').all(after + 1, limit + 1) as unknown as Packed[];
  const queues = sql.get('queueNames').all() as unknown as { id: number; name: string }[];
  return pageOf(rows.map(unpack), new Map(queues.map(({ id, name }) => [id, name])), after, limit);
}

function unpack(row: Packed): EventRow {
  const list = (text: string): readonly number[] => JSON.parse(text) as number[];
  return { ...row, ids: list(row.ids), attempts: list(row.attempts), born: list(row.born) };
}
