import { EMPTY_STATS, type QueueStats } from '../../../../core/task/event.ts';
import { REASONS, type Reason, STATES, type TaskState } from '../../../../core/task/task.ts';
import { stateCode } from '../../../codes.ts';
import { type AttemptRow, attemptOf } from '../../../rows/records.ts';
import type { AttemptRecord, QueueRecord, ReadyTask, TaskQuery, TaskRecord } from '../../../store.ts';
import { payloadOf, resultOf } from '../../body.ts';
import type { Connection, Prepared } from '../../file/connection.ts';
import { within } from './insight.ts';

interface TaskRow {
  readonly id: number;
  readonly lane: number;
  readonly spec: number;
  readonly queue: string;
  readonly handler: string;
  readonly state: number;
  readonly prio: number;
  readonly attempt: number;
  readonly tries: number;
  readonly max_tries: number;
  readonly bounces: number;
  readonly flags: number;
  readonly holder: number | null;
  readonly created_at: number;
  readonly started_at: number | null;
  readonly run_at: number | null;
  readonly expires_at: number | null;
  readonly lease_until: number | null;
  readonly cancel_at: number | null;
  readonly payload: string | null;
  readonly ended_at: number | null;
  readonly reason: number;
  readonly result: string | null;
  readonly parent: number | null;
  readonly root: number | null;
}

export function getTask(sql: Prepared, task: number): TaskRecord | undefined {
  const row = sql.get('taskGet').get(task) as TaskRow | undefined;
  return row && taskOf(sql, row);
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
  return rows.map((row) => taskOf(sql, row));
}

export function listAttempts(sql: Prepared, task: number): readonly AttemptRecord[] {
  return (sql.get('attemptList').all(task) as unknown as AttemptRow[]).map(attemptOf);
}

type StatsRow = { readonly [state in TaskState]: number | null };

export function queueStats(sql: Prepared, queue: string): QueueStats | undefined {
  const row = sql.get('queueStats').get(queue) as StatsRow | undefined;
  return row && statsOf(row);
}

export function listQueues(sql: Prepared): readonly QueueRecord[] {
  const rows = sql.get('queueList').all() as unknown as (StatsRow & { name: string; paused: number })[];
  return rows.map((row) => ({ name: row.name, paused: row.paused !== 0, stats: statsOf(row) }));
}

function statsOf(row: StatsRow): QueueStats {
  const stats: Record<TaskState, number> = { ...EMPTY_STATS };
  for (const state of STATES) stats[state] = row[state] ?? 0;
  return stats;
}

function taskOf(sql: Prepared, row: TaskRow): TaskRecord {
  const waits = row.state === 3;
  return {
    task: row.id,
    lane: row.lane,
    spec: row.spec,
    queue: row.queue,
    handler: row.handler,
    state: STATES[row.state] as TaskState,
    reason: REASONS[row.reason] as Reason,
    priority: 0 - row.prio,
    attempt: row.attempt,
    tries: row.tries,
    maxTries: row.max_tries,
    bounces: row.bounces,
    holder: row.holder ?? undefined,
    createdAt: row.created_at,
    startedAt: row.started_at ?? undefined,
    finishedAt: row.ended_at ?? undefined,
    runAt: row.state === 2 || row.state === 3 ? (row.run_at ?? undefined) : undefined,
    readySince: row.state === 0 ? (row.run_at ?? row.created_at) : undefined,
    // While it waits for others, both columns are about the time after that.
    expiresAt: row.attempt === 0 && row.ended_at === null && !waits ? (row.expires_at ?? undefined) : undefined,
    leaseUntil: waits ? undefined : (row.lease_until ?? undefined),
    cancelRequestedAt: row.cancel_at ?? undefined,
    payload: payloadOf(sql, row.id, row.flags, row.payload),
    result: resultOf(sql, row.id, row.flags, row.result),
    unique: (sql.get('uniqOf').get(row.id) as { key: string } | undefined)?.key,
    parent: row.parent ?? undefined,
    root: row.root ?? undefined,
  };
}
