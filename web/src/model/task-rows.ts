/** The rules by which a live list of tasks changes: pages, events, reads, freezing. */

import { matches, type TaskFilter } from './filter.ts';
import { messageOf, previewOf } from './json.ts';

/** A task as a list shows it. It is small, because a list has many tasks and an input can be large. */
export interface TaskRow {
  readonly id: string;
  readonly queue: string;
  readonly handler: string;
  readonly state: string;
  readonly reason?: string;
  readonly preview: string;
  readonly error: string;
  readonly priority: number;
  readonly attempt: number;
  readonly tries: number;
  readonly maxAttempts: number;
  readonly createdAt: number;
  readonly runAt?: number;
  readonly startedAt?: number;
  readonly finishedAt?: number;
  readonly worker?: string;
  readonly leaseExpiresAt?: number;
  readonly cancelRequestedAt?: number;
}

type RequiredField =
  | 'id'
  | 'queue'
  | 'handler'
  | 'state'
  | 'priority'
  | 'attempt'
  | 'tries'
  | 'maxAttempts'
  | 'createdAt';
type RowFields = Omit<TaskRow, 'preview' | 'error'>;

export function rowOf(
  task: { readonly [K in keyof RowFields]: RowFields[K] | undefined } & Pick<Required<TaskRow>, RequiredField> & {
      readonly input: unknown;
      readonly error?: unknown;
    },
): TaskRow {
  const { id, queue, handler, state, reason, priority, attempt, tries, maxAttempts, createdAt } = task;
  const { runAt, startedAt, finishedAt, worker, leaseExpiresAt, cancelRequestedAt } = task;
  return {
    id,
    queue,
    handler,
    state,
    priority,
    attempt,
    tries,
    maxAttempts,
    createdAt,
    preview: previewOf(task.input),
    error: messageOf(task.error).slice(0, 300),
    ...(reason === undefined ? {} : { reason }),
    ...(runAt === undefined ? {} : { runAt }),
    ...(startedAt === undefined ? {} : { startedAt }),
    ...(finishedAt === undefined ? {} : { finishedAt }),
    ...(worker === undefined ? {} : { worker }),
    ...(leaseExpiresAt === undefined ? {} : { leaseExpiresAt }),
    ...(cancelRequestedAt === undefined ? {} : { cancelRequestedAt }),
  };
}

/**
 * A live list of tasks, newest first, as the pages of the server bring them. Events only name tasks: a task that is shown is
 * read again and patched in place, any other that may belong here is an arrival. While the list is frozen, no row comes, goes
 * or moves, and arrivals are counted.
 */
export interface TaskRows {
  readonly filter: TaskFilter;
  readonly rows: readonly TaskRow[];
  /** Where the next page begins; undefined: there is none. */
  readonly cursor: string | undefined;
  /** Whether the first page has come. */
  readonly loaded: boolean;
  readonly frozen: boolean;
  /** Tasks that are not shown and may belong here, still to be read; the newest last. */
  readonly arrivals: ReadonlySet<string>;
  /** There were too many arrivals to keep, so that the first page has to be read again. */
  readonly flooded: boolean;
}

export type RowsAction =
  | {
      readonly type: 'page';
      readonly rows: readonly TaskRow[];
      readonly cursor: string | undefined;
      readonly first: boolean;
    }
  | { readonly type: 'events'; readonly events: readonly TaskEvent[] }
  | { readonly type: 'read'; readonly ids: readonly string[]; readonly rows: readonly TaskRow[] }
  | { readonly type: 'freeze'; readonly frozen: boolean };

/** The part of an event that a list needs. */
export interface TaskEvent {
  readonly task?: string | undefined;
  readonly kind: string;
  readonly queue?: string | undefined;
  readonly state?: string | undefined;
}

/** Above this, reading one page is cheaper than reading each task. */
const MAX_ARRIVALS = 200;
/** Rows that a list at its top keeps; the others come again by scrolling. */
export const MAX_AT_TOP = 600;

export function emptyRows(filter: TaskFilter): TaskRows {
  return { filter, rows: [], cursor: undefined, loaded: false, frozen: false, arrivals: new Set(), flooded: false };
}

export function changeRows(list: TaskRows, action: RowsAction): TaskRows {
  switch (action.type) {
    case 'page':
      return action.first
        ? firstPage(list, action)
        : { ...list, rows: merged(list.rows, action.rows), cursor: action.cursor };
    case 'events':
      return withEvents(list, action.events);
    case 'read':
      return withRead(list, action.ids, action.rows);
    case 'freeze':
      return list.frozen === action.frozen ? list : { ...list, frozen: action.frozen };
  }
}

/** The first page replaces all rows. A row that did not change stays the same object. */
function firstPage(
  list: TaskRows,
  { rows, cursor }: { readonly rows: readonly TaskRow[]; readonly cursor: string | undefined },
): TaskRows {
  const before = new Map(list.rows.map((row) => [row.id, row]));
  return {
    ...list,
    rows: rows.map((row) => reuseIfSame(before.get(row.id), row)),
    cursor,
    loaded: true,
    arrivals: new Set(),
    flooded: false,
  };
}

function withEvents(list: TaskRows, events: readonly TaskEvent[]): TaskRows {
  if (!list.loaded) return list;
  const shown = idsOf(list.rows);
  const arrivals = new Set(list.arrivals);
  const created = new Set(events.flatMap(({ kind, task }) => (kind === 'created' && task !== undefined ? [task] : [])));
  for (const { task, queue, state } of events) {
    if (task === undefined || queue === undefined || state === undefined || shown.has(task)) continue;
    // A task below the loaded part is no arrival. Without a filter by state, only a task that was just created is new.
    const mayBelong = matches(list.filter, { state, queue });
    if (mayBelong && (list.filter.state.length > 0 || list.cursor === undefined || created.has(task))) {
      arrivals.delete(task);
      arrivals.add(task);
    } else if (!mayBelong) arrivals.delete(task);
  }
  if (sameSet(arrivals, list.arrivals)) return list;
  if (arrivals.size <= MAX_ARRIVALS) return { ...list, arrivals };
  return { ...list, arrivals: new Set([...arrivals].slice(-MAX_ARRIVALS)), flooded: true };
}

const idSets = new WeakMap<readonly TaskRow[], ReadonlySet<string>>();

/** Made once for each array of rows: a list may have many rows, and events come many times a second. */
export function idsOf(rows: readonly TaskRow[]): ReadonlySet<string> {
  const ids = idSets.get(rows) ?? new Set(rows.map(({ id }) => id));
  idSets.set(rows, ids);
  return ids;
}

function withRead(list: TaskRows, ids: readonly string[], rows: readonly TaskRow[]): TaskRows {
  const found = new Map(rows.map((row) => [row.id, row]));
  const asked = new Set(ids);
  const shown = new Set<string>();
  let changed = false;
  const remaining = list.rows.flatMap((row) => {
    shown.add(row.id);
    if (!asked.has(row.id)) return [row];
    const now = found.get(row.id);
    // The task is gone or no longer matches: its row leaves, unless the list is frozen.
    if (now === undefined || !matches(list.filter, now)) {
      changed = true;
      if (!list.frozen) return [];
      return [now ?? row];
    }
    const patched = reuseIfSame(row, now);
    if (patched !== row) changed = true;
    return [patched];
  });
  const arrivals = new Set(list.arrivals);
  let result: readonly TaskRow[] = changed ? remaining : list.rows;
  if (!list.frozen) {
    const fresh = rows.filter((row) => !shown.has(row.id) && matches(list.filter, row) && isInLoadedPart(list, row));
    if (fresh.length > 0) result = merged(result, fresh);
    for (const id of ids) arrivals.delete(id);
  }
  const cut = !list.frozen && result.length > MAX_AT_TOP * 2;
  if (cut) result = result.slice(0, MAX_AT_TOP);
  if (result === list.rows && arrivals.size === list.arrivals.size) return list;
  return { ...list, rows: result, arrivals, cursor: cut ? result.at(-1)?.id : list.cursor };
}

/** Whether a task belongs to the loaded part of the list. */
function isInLoadedPart({ rows, cursor }: TaskRows, row: TaskRow): boolean {
  const last = rows.at(-1);
  return cursor === undefined || last === undefined || isBefore(row, last);
}

/** Newest first, each id once; `more` wins over `rows`. */
function merged(rows: readonly TaskRow[], more: readonly TaskRow[]): readonly TaskRow[] {
  const [last, next] = [rows.at(-1), more[0]];
  // Nearly always this is the next page, which needs no sorting.
  if ((last === undefined || (next !== undefined && isBefore(last, next))) && isSorted(more)) return [...rows, ...more];
  const replaced = new Set(more.map(({ id }) => id));
  const result = [...rows.filter(({ id }) => !replaced.has(id)), ...more];
  return result.sort((a, b) => (isBefore(a, b) ? -1 : 1));
}

function isSorted(rows: readonly TaskRow[]): boolean {
  return rows.every((row, i) => i === 0 || isBefore(rows[i - 1] as TaskRow, row));
}

function isBefore(a: TaskRow, b: TaskRow): boolean {
  return a.createdAt === b.createdAt ? a.id > b.id : a.createdAt > b.createdAt;
}

/** Returns the old object if nothing has changed, so that its row is not drawn again. */
function reuseIfSame(old: TaskRow | undefined, now: TaskRow): TaskRow {
  if (old === undefined) return now;
  const keys = Object.keys(now) as (keyof TaskRow)[];
  return keys.length === Object.keys(old).length && keys.every((key) => old[key] === now[key]) ? old : now;
}

function sameSet(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  if (a.size !== b.size) return false;
  const [one, other] = [[...a], [...b]];
  return one.every((id, i) => id === other[i]);
}
