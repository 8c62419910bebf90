import type { HandlerSchema, ToldSchema } from '../../../../core/placement/worker.ts';
import { stateCode } from '../../../codes.ts';
import { CREATION_SLACK_MS } from '../../../port/insight-store.ts';
import {
  type CountRow,
  countsOf,
  type FailureRow,
  failureOf,
  type ViewRow,
  viewOf,
} from '../../../rows/insight-rows.ts';
import type { Failure, HandlerQueue, NewView, TaskCount, TaskCounts, ViewRecord } from '../../../store.ts';
import type { Connection, Prepared } from '../../file/connection.ts';
import type { Transaction } from '../../file/transaction.ts';

export function listFailures(sql: Prepared, before: number | undefined, limit: number): readonly Failure[] {
  const rows = sql.get('failureList').all(before ?? Number.MAX_SAFE_INTEGER, limit) as unknown as FailureRow[];
  return rows.map(failureOf);
}

/** Conditions on `t`, and their values. */
export interface Condition {
  readonly where: readonly string[];
  readonly values: readonly (string | number)[];
}

/** The bounds of a walk down from the newest task. */
export interface Walk {
  readonly from?: number | undefined;
  readonly until?: number | undefined;
  readonly before?: number | undefined;
}

/**
 * Conditions for tasks that were created in this time and are older than `before`, with bounds on ids where no other
 * tasks can be. One bound on each side, because SQLite searches by one and reads all that it leaves.
 */
export function within(sql: Prepared, { from, until, before }: Walk): Condition {
  const where: string[] = [];
  const values: number[] = [];
  const add = (condition: string, value: number): void => {
    where.push(condition);
    values.push(value);
  };
  if (from !== undefined) {
    add('t.id >= ?', idAt(sql, from - CREATION_SLACK_MS));
    add('t.created_at >= ?', from);
  }
  const end = until === undefined ? Number.POSITIVE_INFINITY : idAt(sql, until + CREATION_SLACK_MS);
  const below = Math.min(end, before ?? Number.POSITIVE_INFINITY);
  if (below < Number.POSITIVE_INFINITY) add('t.id < ?', below);
  if (until !== undefined) add('t.created_at < ?', until);
  return { where, values };
}

/** The first id that was created then or later, by binary search: ids and times grow together. */
function idAt(sql: Prepared, time: number): number {
  let low = (sql.get('taskFirst').get() as { id: number | null }).id ?? 0;
  let high = ((sql.get('taskMax').get() as { id: number | null }).id ?? 0) + 1;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const row = sql.get('taskFrom').get(middle) as { id: number; created_at: number } | undefined;
    if (row === undefined || row.created_at >= time) high = middle;
    else low = row.id + 1;
  }
  return low;
}

/**
 * Reads the newest tasks of the time, whatever the other filters say. The filters only decide into which bucket a task
 * is counted.
 */
export function countTasks(connection: Connection, query: TaskCount): TaskCounts {
  const { text, values } = countText(connection.sql, query);
  const statement = connection.db.prepare(text);
  return countsOf(statement.all(...values) as unknown as CountRow[]);
}

export function countText(
  sql: Prepared,
  { queues, handlers, states, from, until, stepMs, before, limit }: TaskCount,
): { readonly text: string; readonly values: readonly (string | number)[] } {
  const walk = within(sql, { from, until, before });
  // The row of lane 0 reserves ids after a restore, and is no task.
  const fits = ['p.lane > 0'];
  const wanted: (string | number)[] = [];
  if (states.length > 0) fits.push(`p.state IN (${states.map(stateCode).join(', ')})`);
  for (const [column, names] of [
    ['q.name', queues],
    ['l.handler', handlers],
  ] as const) {
    if (names.length === 0) continue;
    fits.push(`${column} IN (SELECT value FROM json_each(?))`);
    wanted.push(JSON.stringify(names));
  }
  const named = wanted.length === 0 ? '' : 'LEFT JOIN lane l ON l.id = p.lane LEFT JOIN queue q ON q.id = l.queue';
  const text = `SELECT iif(${fits.join(' AND ')}, CAST((p.created_at - ?) / ? AS INTEGER), -1) AS bucket, p.state,
      count(*) AS tasks, min(p.id) AS last
    FROM (SELECT t.id, t.created_at, t.state, t.lane FROM task t WHERE ${walk.where.join(' AND ')}
        ORDER BY t.id DESC LIMIT ?) p ${named}
    GROUP BY 1, 2`;
  return { text, values: [...wanted, from, stepMs, ...walk.values, limit] };
}

export function handlerQueues(sql: Prepared, limit: number): readonly HandlerQueue[] {
  const rows = sql.get('handlerQueues').all(limit) as unknown as HandlerQueue[];
  const known = new Map(rows.map(({ handler, queue }) => [`${handler} ${queue}`, { handler, queue }]));
  return [...known.values()];
}

export function putView(tx: Transaction, view: NewView, most: number): ViewRecord | undefined {
  const { name, screen, query, by } = view;
  const { changes } = tx.sql.get('viewPut').run(name, screen, query, by, tx.now, most);
  return changes === 0 ? undefined : { name, screen, query, by, savedAt: tx.now };
}

export function listViews(sql: Prepared): readonly ViewRecord[] {
  return (sql.get('viewList').all() as unknown as ViewRow[]).map(viewOf);
}

export function putSchemas(tx: Transaction, worker: string, schemas: readonly HandlerSchema[]): void {
  let changed = 0;
  for (const { handler, schema } of schemas) {
    changed += Number(tx.sql.get('schemaPut').run(worker, handler, schema, tx.now).changes);
  }
  if (changed === 0) return;
  tx.sql.get('schemaTrimOne').run({ worker });
  tx.sql.get('schemaTrim').run();
}

export function listSchemas(sql: Prepared): readonly ToldSchema[] {
  const rows = sql.get('schemaList').all() as unknown as ToldSchema[];
  return rows.map(({ worker, handler, schema }) => ({ worker, handler, schema }));
}

export function dropView(tx: Transaction, name: string): boolean {
  return tx.sql.get('viewDrop').run(name).changes > 0;
}
