import { fault } from '../../../../core/errors.ts';
import { type EventRow, pageOf, rowsAfter, tellOfTasks, workersIn } from '../../../rows/records.ts';
import type { DutyTerm, EventPage, NumberAnswer } from '../../../store.ts';
import { numbers } from '../../arrays.ts';
import type { Session } from '../../connect/database.ts';

interface NamedWorker {
  readonly id: number;
  readonly name: string;
  readonly host: string | null;
}

/**
 * One statement reads everything that decides, so that a pruner cannot come in between. It reads no row behind the
 * page: each row holds hundreds of events, and a reader far behind read all of them again with every page.
 */
export async function readEvents(session: Session, after: number, limit: number): Promise<EventPage> {
  const rows = await session.all<EventRow>('eventRead', [after + 1, limit]);
  type Named = readonly (readonly [number, string])[];
  const news = rowsAfter(rows, after);
  const queues = new Map(tellOfTasks(news) ? ((await session.rows('queueNames', [])) as Named) : []);
  const ids = workersIn(news);
  const rowsOf = async (): Promise<readonly NamedWorker[]> => session.all<NamedWorker>('workerNames', [numbers(ids)]);
  const workers = new Map((ids.length === 0 ? [] : await rowsOf()).map((worker) => [worker.id, worker]));
  return pageOf(rows, { queues, workers }, after, limit);
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
