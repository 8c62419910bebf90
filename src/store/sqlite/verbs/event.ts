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

export function readEvents(sql: Prepared, after: number, limit: number): EventPage {
  const first = sql.get('eventFirst').get() as unknown as { seq: number; n: number };
  // The founding row 0 stands for no event; once it is pruned, everything below the first row is gone.
  const reset = first.seq > 0 && after + 1 < first.seq;
  const rows = sql.get('eventRead').all(reset ? first.seq : after + 1, limit + 1) as unknown as EventRow[];
  const names = queueNames(sql, rows);
  const events: TaskEvent[] = [];
  for (const row of rows) {
    if (row.seq === 0) continue;
    expand(row, names, after, events, limit);
    if (events.length >= limit) break;
  }
  return { events, reset, last: events.at(-1)?.seq ?? (reset ? first.seq - 1 : after) };
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
