import type { QueueStats } from '../../../../core/task/event.ts';
import { stateCode } from '../../../codes.ts';
import { type AttemptRow, attemptOf } from '../../../rows/records.ts';
import { type StatsRow, statsOf, type TaskRow, taskOf } from '../../../rows/task-rows.ts';
import type { AttemptRecord, QueueRecord, ReadyTask, TaskQuery, TaskRecord } from '../../../store.ts';
import { payloadOf, resultOf } from '../../body.ts';
import type { Connection, Prepared } from '../../file/connection.ts';
import { within } from './insight.ts';

export function getTask(sql: Prepared, task: number): TaskRecord | undefined {
  const row = sql.get('taskGet').get(task) as TaskRow | undefined;
  return row && readTask(sql, row);
}

/** In the order of a claim. */
export function readyTasks(sql: Prepared, lanes: readonly number[], limit: number): readonly ReadyTask[] {
  const found = lanes.flatMap((lane) => {
    const rows = sql.get('taskReady').all(lane, limit) as unknown as { id: number; prio: number }[];
    return rows.map(({ id, prio }) => ({ task: id, lane, priority: 0 - prio }));
  });
  return found.sort((a, b) => b.priority - a.priority || a.task - b.task).slice(0, limit);
}

/** Newest first. Filters are few and indexed by the primary key's order; a page is small. */
export function listTasks({ db, sql }: Connection, query: TaskQuery): readonly TaskRecord[] {
  const walk = within(sql, query);
  const where = [...walk.where];
  const values = [...walk.values];
  if (query.queue !== undefined) {
    where.push('q.name = ?');
    values.push(query.queue);
  }
  if (query.handlers !== undefined) {
    where.push(`l.handler IN (${query.handlers.map(() => '?').join(', ') || 'NULL'})`);
    values.push(...query.handlers);
  }
  if (query.states !== undefined) {
    where.push(`t.state IN (${query.states.map((state) => stateCode(state)).join(', ') || 'NULL'})`);
  }
  const filter = where.length === 0 ? '' : `WHERE ${where.join(' AND ')}`;
  const text = `SELECT t.*, l.handler AS handler, q.name AS queue FROM task t
    JOIN lane l ON l.id = t.lane JOIN queue q ON q.id = l.queue ${filter} ORDER BY t.id DESC LIMIT ?`;
  const rows = db.prepare(text).all(...values, query.limit) as unknown as TaskRow[];
  return rows.map((row) => readTask(sql, row));
}

export function listAttempts(sql: Prepared, task: number): readonly AttemptRecord[] {
  return (sql.get('attemptList').all(task) as unknown as AttemptRow[]).map(attemptOf);
}

export function queueStats(sql: Prepared, queue: string): QueueStats | undefined {
  const row = sql.get('queueStats').get(queue) as StatsRow | undefined;
  return row && statsOf(row);
}

export function listQueues(sql: Prepared): readonly QueueRecord[] {
  const rows = sql.get('queueList').all() as unknown as (StatsRow & { name: string; paused: number })[];
  return rows.map((row) => ({ name: row.name, paused: row.paused !== 0, stats: statsOf(row) }));
}

function readTask(sql: Prepared, row: TaskRow): TaskRecord {
  return taskOf(row, {
    priority: 0 - row.prio,
    payload: payloadOf(sql, row.id, row.flags, row.payload),
    result: resultOf(sql, row.id, row.flags, row.result),
    unique: (sql.get('uniqOf').get(row.id) as { key: string } | undefined)?.key,
  });
}
