import { EMPTY_STATS, type QueueStats } from '../../../../core/task/event.ts';
import { REASONS, type Reason, STATES, type TaskState } from '../../../../core/task/task.ts';
import { stateCode, stateOf } from '../../../codes.ts';
import { type AttemptRow, attemptOf } from '../../../rows/records.ts';
import type { AttemptRecord, QueueRecord, ReadyTask, TaskQuery, TaskRecord } from '../../../store.ts';
import { numbers, texts } from '../../arrays.ts';
import type { Session } from '../../connect/database.ts';
import { priorityOf } from '../../prio.ts';
import { record } from '../../statements/reads.ts';
import { createdIn } from './insight.ts';

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
  readonly holder: number | null;
  readonly created_at: number;
  readonly started_at: number | null;
  readonly cancel_at: number | null;
  readonly payload: string | null;
  readonly ended_at: number | null;
  readonly reason: number;
  readonly result: string | null;
  readonly run_at: number | null;
  readonly lease_until: number | null;
  readonly expires_at: number | null;
  readonly unique_key: string | null;
  readonly parent: number | null;
  readonly root: number | null;
  readonly payload_apart: string | null;
  readonly result_apart: string | null;
}

export async function getTasks(
  session: Session,
  tasks: readonly number[],
): Promise<readonly (TaskRecord | undefined)[]> {
  const rows = await session.all<TaskRow>('taskGet', [numbers(tasks)]);
  const byId = new Map(rows.map((row) => [row.id, taskOf(row)]));
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
  const rows = await session.raw<TaskRow>(
    `${page('task')} UNION ALL ${page('done')} ORDER BY id DESC LIMIT $1`,
    values,
  );
  return rows.map(taskOf);
}

export async function listAttempts(session: Session, task: number): Promise<readonly AttemptRecord[]> {
  return (await session.all<AttemptRow>('attemptList', [task])).map(attemptOf);
}

type StatsRow = { readonly [state in TaskState]: number };

export async function queueStats(session: Session, queue: string): Promise<QueueStats | undefined> {
  const [row] = await session.all<StatsRow>('queueStats', [queue]);
  return row && statsOf(row);
}

export async function listQueues(session: Session): Promise<readonly QueueRecord[]> {
  const rows = await session.all<StatsRow & { name: string; paused: boolean }>('queueList', []);
  return rows.map((row) => ({ name: row.name, paused: row.paused, stats: statsOf(row) }));
}

function statsOf(row: StatsRow): QueueStats {
  const stats: Record<TaskState, number> = { ...EMPTY_STATS };
  for (const state of STATES) stats[state] = row[state];
  return stats;
}

function taskOf(row: TaskRow): TaskRecord {
  const waits = row.state === 3;
  return {
    task: row.id,
    lane: row.lane,
    spec: row.spec,
    queue: row.queue,
    handler: row.handler,
    state: stateOf(row.state),
    reason: REASONS[row.reason] as Reason,
    priority: priorityOf(row.prio),
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
    expiresAt: row.attempt === 0 && !waits ? (row.expires_at ?? undefined) : undefined,
    leaseUntil: waits ? undefined : (row.lease_until ?? undefined),
    cancelRequestedAt: row.cancel_at ?? undefined,
    payload: row.payload ?? row.payload_apart ?? 'null',
    result: row.result ?? row.result_apart ?? undefined,
    unique: row.unique_key ?? undefined,
    parent: row.parent ?? undefined,
    root: row.root ?? undefined,
  };
}
