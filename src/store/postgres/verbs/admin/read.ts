import type { QueueStats } from '../../../../core/task/event.ts';
import { stateCode } from '../../../codes.ts';
import { type AttemptRow, attemptOf } from '../../../rows/records.ts';
import { type StatsRow, statsOf, type TaskRow, taskOf } from '../../../rows/task-rows.ts';
import type { AttemptRecord, QueueRecord, ReadyTask, TaskQuery, TaskRecord } from '../../../store.ts';
import { numbers, texts } from '../../arrays.ts';
import type { Session } from '../../connect/database.ts';
import { priorityOf } from '../../prio.ts';
import { record } from '../../statements/reads.ts';
import { createdIn } from './insight.ts';

interface FullRow extends TaskRow {
  readonly unique_key: string | null;
  readonly payload_apart: string | null;
  readonly result_apart: string | null;
}

export async function getTasks(
  session: Session,
  tasks: readonly number[],
): Promise<readonly (TaskRecord | undefined)[]> {
  const rows = await session.all<FullRow>('taskGet', [numbers(tasks)]);
  const byId = new Map(rows.map((row) => [row.id, readTask(row)]));
  return tasks.map((task) => byId.get(task));
}

/** In the order of a claim. */
export async function readyTasks(
  session: Session,
  lanes: readonly number[],
  limit: number,
): Promise<readonly ReadyTask[]> {
  const rows = await session.all<{ id: number; lane: number; prio: number }>('taskReady', [numbers(lanes), limit]);
  const first = rows.toSorted((a, b) => a.prio - b.prio || a.id - b.id).slice(0, limit);
  return first.map(({ id, lane, prio }) => ({ task: id, lane, priority: priorityOf(prio) }));
}

/** Newest first. A page of each table, merged: both are in the order of ids. */
export async function listTasks(session: Session, schema: string, query: TaskQuery): Promise<readonly TaskRecord[]> {
  const values: unknown[] = [query.limit];
  const where: string[] = [];
  if (query.before !== undefined) where.push(`t.id < $${values.push(query.before)}`);
  if (query.queue !== undefined) {
    where.push(`t.queue = (SELECT id FROM ${schema}.queue WHERE name = $${values.push(query.queue)})`);
  }
  if (query.handlers !== undefined) {
    const handler = `(SELECT handler FROM ${schema}.lane l WHERE l.id = t.lane)`;
    where.push(`${handler} = ANY($${values.push(texts(query.handlers))}::text[])`);
  }
  const { first, end } = await createdIn(session, query.from, query.until);
  if (first !== undefined) where.push(`t.id >= $${values.push(first)}`);
  if (end !== undefined) where.push(`t.id < $${values.push(end)}`);
  if (query.from !== undefined) where.push(`t.created_at >= $${values.push(query.from)}`);
  if (query.until !== undefined) where.push(`t.created_at < $${values.push(query.until)}`);
  const codes = query.states?.map(stateCode);
  if (codes !== undefined) where.push(`t.state = ANY($${values.push(numbers(codes))}::smallint[])`);
  const filter = where.length === 0 ? '' : `WHERE ${where.join(' AND ')}`;
  const page = (table: 'task' | 'done'): string => `(${record(schema, table)} ${filter} ORDER BY t.id DESC LIMIT $1)`;
  const rows = await session.raw<FullRow>(
    `${page('task')} UNION ALL ${page('done')} ORDER BY id DESC LIMIT $1`,
    values,
  );
  return rows.map(readTask);
}

export async function listAttempts(session: Session, task: number): Promise<readonly AttemptRecord[]> {
  return (await session.all<AttemptRow>('attemptList', [task])).map(attemptOf);
}

export async function queueStats(session: Session, queue: string): Promise<QueueStats | undefined> {
  const [row] = await session.all<StatsRow>('queueStats', [queue]);
  return row && statsOf(row);
}

export async function listQueues(session: Session): Promise<readonly QueueRecord[]> {
  const rows = await session.all<StatsRow & { name: string; paused: boolean }>('queueList', []);
  return rows.map((row) => ({ name: row.name, paused: row.paused, stats: statsOf(row) }));
}

function readTask(row: FullRow): TaskRecord {
  return taskOf(row, {
    priority: priorityOf(row.prio),
    payload: row.payload ?? row.payload_apart ?? 'null',
    result: row.result ?? row.result_apart ?? undefined,
    unique: row.unique_key ?? undefined,
  });
}
