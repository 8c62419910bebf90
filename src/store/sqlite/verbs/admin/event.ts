import { type EventRow, pageOf, rowsAfter, tellOfTasks, workersIn } from '../../../rows/records.ts';
import type { EventPage } from '../../../store.ts';
import type { Prepared } from '../../file/connection.ts';

type Packed = Omit<EventRow, 'ids' | 'attempts' | 'born'> & Readonly<Record<'ids' | 'attempts' | 'born', string>>;

/**
 * One statement reads everything that decides, so that a pruner in another process cannot come in between. It reads no
 * row behind the page: each row holds hundreds of events, and a reader far behind read all of them again with every
 * page.
 */
export function readEvents(sql: Prepared, after: number, limit: number): EventPage {
  const packed = sql.get('eventRead').all(after + 1, limit) as unknown as Packed[];
  const rows = packed.map(unpack);
  const news = rowsAfter(rows, after);
  const queues = tellOfTasks(news) ? (sql.get('queueNames').all() as unknown as Named[]) : [];
  const ids = workersIn(news);
  const workers = ids.length === 0 ? [] : (sql.get('workerNames').all(JSON.stringify(ids)) as unknown as NamedWorker[]);
  return pageOf(
    rows,
    { queues: namesOf(queues), workers: new Map(workers.map((worker) => [worker.id, worker])) },
    after,
    limit,
  );
}

interface Named {
  readonly id: number;
  readonly name: string;
}

interface NamedWorker extends Named {
  readonly host: string | null;
}

function namesOf(rows: readonly Named[]): ReadonlyMap<number, string> {
  return new Map(rows.map(({ id, name }) => [id, name]));
}

function unpack(row: Packed): EventRow {
  const list = (text: string): readonly number[] => JSON.parse(text) as number[];
  return { ...row, ids: list(row.ids), attempts: list(row.attempts), born: list(row.born) };
}
