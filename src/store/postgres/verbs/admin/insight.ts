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
import { numbers, texts } from '../../arrays.ts';
import { lockChannels } from '../../connect/channel-locks.ts';
import type { Session } from '../../connect/database.ts';
import type { FlushId } from '../../push-dedup.ts';
import { once } from '../queue/once.ts';

export async function listFailures(
  session: Session,
  before: number | undefined,
  limit: number,
): Promise<readonly Failure[]> {
  const rows = await session.all<FailureRow>('failureList', [before ?? Number.MAX_SAFE_INTEGER, limit]);
  return rows.map(failureOf);
}

/** The range of ids that holds all tasks of a time. */
export interface Span {
  readonly first: number | undefined;
  readonly end: number | undefined;
}

export async function createdIn(session: Session, from: number | undefined, until: number | undefined): Promise<Span> {
  return {
    first: from === undefined ? undefined : await idAt(session, from - CREATION_SLACK_MS),
    end: until === undefined ? undefined : await idAt(session, until + CREATION_SLACK_MS),
  };
}

async function idAt(session: Session, time: number): Promise<number | undefined> {
  return (await session.all<{ id: number }>('taskAt', [time]))[0]?.id;
}

/**
 * Reads the newest tasks of the time, whatever the other filters say. The filters only decide into which bucket a task
 * is counted.
 */
export async function countTasks(session: Session, schema: string, query: TaskCount): Promise<TaskCounts> {
  const { queues, handlers, states, from, until, stepMs, before, limit } = query;
  const { first = 0, end = Number.MAX_SAFE_INTEGER } = await createdIn(session, from, until);
  const values: unknown[] = [limit, from, until, stepMs, first, Math.min(end, before ?? end)];
  const fits = ['true'];
  if (states.length > 0) fits.push(`p.state = ANY($${values.push(numbers(states.map(stateCode)))}::smallint[])`);
  if (queues.length > 0) {
    fits.push(
      `(SELECT name FROM ${schema}.queue q WHERE q.id = p.queue) = ANY($${values.push(texts(queues))}::text[])`,
    );
  }
  if (handlers.length > 0) {
    fits.push(
      `(SELECT handler FROM ${schema}.lane l WHERE l.id = p.lane) = ANY($${values.push(texts(handlers))}::text[])`,
    );
  }
  const page = (table: 'task' | 'done'): string => `(SELECT t.id, t.created_at, t.state, t.queue, t.lane
    FROM ${schema}.${table} t WHERE t.id >= $5::bigint AND t.id < $6::bigint AND t.created_at >= $2::bigint
      AND t.created_at < $3::bigint ORDER BY t.id DESC LIMIT $1::int)`;
  const rows = await session.raw<CountRow>(
    `SELECT CASE WHEN ${fits.join(' AND ')} THEN (p.created_at - $2::bigint) / $4::bigint ELSE -1 END AS bucket, p.state,
      count(*) AS tasks, min(p.id) AS last
    FROM (${page('task')} UNION ALL ${page('done')} ORDER BY id DESC LIMIT $1::int) p GROUP BY 1, 2`,
    values,
  );
  return countsOf(rows);
}

export function handlerQueues(session: Session, limit: number): Promise<readonly HandlerQueue[]> {
  return session.all<HandlerQueue>('handlerQueues', [limit]);
}

/** In a transaction, under a lock: the count of views includes those of all earlier writers. */
export function putView(session: Session, flushId: FlushId, view: NewView, most: number): Promise<ViewRecord | null> {
  const { name, screen, query, by } = view;
  return once(session, 'view', flushId, async () => {
    await lockChannels(session, ['views']);
    const [row] = await session.all<ViewRow>('viewPut', [name, screen, query, by, most]);
    return row === undefined ? null : viewOf(row);
  });
}

export async function listViews(session: Session): Promise<readonly ViewRecord[]> {
  return (await session.all<ViewRow>('viewList', [])).map(viewOf);
}

export async function putSchemas(session: Session, worker: string, schemas: readonly HandlerSchema[]): Promise<void> {
  const columns = [texts(schemas.map(({ handler }) => handler)), texts(schemas.map(({ schema }) => schema))];
  if ((await session.rows('schemaPut', [worker, ...columns])).length === 0) return;
  await session.rows('schemaTrimOne', [worker]);
  await session.rows('schemaTrim', []);
}

export function listSchemas(session: Session): Promise<readonly ToldSchema[]> {
  return session.all<ToldSchema>('schemaList', []);
}

export function dropView(session: Session, flushId: FlushId, name: string): Promise<boolean> {
  return once(session, 'view', flushId, async () => (await session.rows('viewDrop', [name])).length > 0);
}
