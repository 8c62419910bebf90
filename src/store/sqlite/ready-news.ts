import { CHANGES, STATES } from '../../core/task/task.ts';
import type { Prepared } from './file/connection.ts';

/** More news than this is not read: a scan of the lanes costs less. */
const MAX_ROWS = 8;
const MAX_TASKS = 16;

const READY = STATES.indexOf('ready');
const CLAIMED = CHANGES.indexOf('claimed');

interface NewsRow {
  readonly next: number;
  readonly queue: number;
  readonly kind: number;
  readonly state: number;
  readonly n: number;
  readonly ids: string;
}

/**
 * The lanes that have new ready tasks by the events since the last look. So a claim goes to the lane where another process has pushed,
 * and does not look through all lanes first.
 */
export class ReadyNews {
  #next: number | undefined;

  /** Undefined: the events do not tell. */
  lanes(sql: Prepared): readonly number[] | undefined {
    const rows =
      this.#next === undefined ? [] : (sql.get('eventNews').all(this.#next, MAX_ROWS + 1) as unknown as NewsRow[]);
    if (rows.length > 0 && rows.length <= MAX_ROWS) {
      this.#next = rows.at(-1)?.next;
      return lanesIn(sql, rows);
    }
    // The first look, more than is worth reading, or something that has no event, such as a queue that is resumed.
    this.#next = (sql.get('eventNext').get() as { next: number }).next;
    return undefined;
  }
}

function lanesIn(sql: Prepared, rows: readonly NewsRow[]): readonly number[] | undefined {
  const lanes = new Set<number>();
  let left = MAX_TASKS;
  for (const { queue, kind, state, n, ids } of rows) {
    // Workers come and go: who may take what has changed.
    if (queue === 0) return undefined;
    if (state === READY) {
      left -= n;
      if (left < 0) return undefined;
      for (const task of JSON.parse(ids) as readonly number[]) {
        const place = sql.get('taskPlace').get(task) as { lane: number } | undefined;
        if (place !== undefined) lanes.add(place.lane);
      }
      // An end may give something back to a limit, and that unblocks lanes.
    } else if (kind !== CLAIMED && sql.get('slotAny').get() !== undefined) return undefined;
  }
  return [...lanes];
}
