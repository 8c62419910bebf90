import type { TaskEvent } from '../../../core/event.ts';
import { CHANGES, type Change, STATES, type TaskState } from '../../../core/task.ts';
import type { EventPage } from '../../store.ts';
import type { Prepared } from '../connection.ts';

interface EventRow {
  readonly seq: number;
  readonly n: number;
  readonly at: number;
  readonly queue: number;
  readonly kind: number;
  readonly state: number;
  readonly ids: string;
  readonly attempts: string;
  readonly born: string;
}

/**
 * One statement reads everything that decides, so that a pruner in another process cannot come in between. It begins with
 * the row that holds the number after `after`, or the newest one before it.
 */
export function readEvents(sql: Prepared, after: number, limit: number): EventPage {
  const rows = sql.get('eventRead').all(after + 1, limit + 1) as unknown as EventRow[];
  const first = rows[0] as EventRow;
  const newest = rows.at(-1) as EventRow;
  const ahead = newest.seq + newest.n - 1 < after; // of a store that was restored from a backup
  if (ahead) return { events: [], reset: true, last: newest.seq + newest.n - 1 };
  const events: TaskEvent[] = [];
  const names = queueNames(sql, rows);
  for (const row of rows) {
    if (row.seq === 0) continue; // the founding row stands for no event
    expand(row, names, after, events, limit);
    if (events.length >= limit) break;
  }
  return { events, reset: first.seq > after + 1, last: events.at(-1)?.seq ?? after };
}

function expand(
  row: EventRow,
  names: ReadonlyMap<number, string>,
  after: number,
  into: TaskEvent[],
  limit: number,
): void {
  const ids = JSON.parse(row.ids) as number[];
  const attempts = JSON.parse(row.attempts) as number[];
  const born = JSON.parse(row.born) as number[];
  for (let i = Math.max(0, after + 1 - row.seq); i < row.n && into.length < limit; i++) {
    into.push({
      seq: row.seq + i,
      at: row.at,
      queue: names.get(row.queue) ?? '',
      change: CHANGES[row.kind] as Change,
      state: STATES[row.state] as TaskState,
      task: ids[i] as number,
      attempt: (attempts[i] ?? attempts[0]) as number,
      createdAt: (born[i] ?? born[0]) as number,
    });
  }
}

function queueNames(sql: Prepared, rows: readonly EventRow[]): ReadonlyMap<number, string> {
  if (rows.length === 0) return new Map();
  const queues = sql.get('queueNames').all() as unknown as { id: number; name: string }[];
  return new Map(queues.map(({ id, name }) => [id, name]));
}
