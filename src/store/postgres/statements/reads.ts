import { type Fragments } from './fragments.ts';

/** Statements that only read. */
export function readStatements({ s }: Fragments) {
  return {
    taskGet: `${record(s, 'task')} WHERE t.id = ANY($1::bigint[]) UNION ALL ${record(s, 'done')} WHERE t.id = ANY($1::bigint[])`,
    attemptList: `SELECT attempt, holder, started_at, ended_at, outcome, error FROM ${s}.attempt WHERE task = $1 ORDER BY attempt`,
    /** The counters, and what the sequencer has not added to them yet: exact in every snapshot. */
    queueList: `${stats(s)} ORDER BY q.name`,
    queueStats: `${stats(s)} WHERE q.name = $1`,
  } as const;
}

/** The record of a task, unfinished or finished. Both tables give the columns in the same order. */
export function record(s: string, table: 'task' | 'done'): string {
  const own =
    table === 'task'
      ? 'NULL::bigint AS ended_at, 0::smallint AS reason, NULL::text AS result, t.run_at, t.lease_until, t.expires_at'
      : 't.ended_at, t.reason, t.result, NULL::bigint AS run_at, NULL::bigint AS lease_until, NULL::bigint AS expires_at';
  return `SELECT t.id, t.lane, t.spec, (SELECT name FROM ${s}.queue q WHERE q.id = t.queue) AS queue,
    (SELECT handler FROM ${s}.lane l WHERE l.id = t.lane) AS handler, t.state, t.prio, t.attempt, t.tries, t.max_tries, t.bounces,
    t.flags, t.holder, t.created_at, t.started_at, t.cancel_at, t.payload, t.parent, t.root, ${own},
    (SELECT key FROM ${s}.uniq u WHERE u.task = t.id LIMIT 1) AS unique_key,
    CASE WHEN t.flags & 2 <> 0 THEN (SELECT data FROM ${s}.body b WHERE b.task = t.id AND b.part = 0) END AS payload_apart,
    CASE WHEN t.flags & 8 <> 0 THEN (SELECT data FROM ${s}.body b WHERE b.task = t.id AND b.part = 1) END AS result_apart
    FROM ${s}.${table} t`;
}

/** The counters of queues, with the events that are not added yet. */
export function stats(s: string): string {
  const states = ['ready', 'running', 'scheduled', 'waiting', 'completed', 'failed', 'cancelled'];
  const sums = states.map((state) => `sum(d_${state}) AS ${state}`).join(', ');
  const both = states.map((state) => `coalesce(c.${state}, 0) + coalesce(o.${state}, 0) AS ${state}`).join(', ');
  return `SELECT q.id, q.name, q.paused, ${both} FROM ${s}.queue q LEFT JOIN ${s}.qstat c ON c.queue = q.id
    LEFT JOIN (SELECT queue, ${sums} FROM ${s}.outbox GROUP BY queue) o ON o.queue = q.id`;
}
