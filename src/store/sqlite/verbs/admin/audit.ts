import { STATES, type TaskState } from '../../../../core/task/task.ts';
import type { Connection, Prepared } from '../../file/connection.ts';

/** The difference between the counters of one queue and its rows: what to add to make them right. */
export interface StatsDrift {
  readonly queue: number;
  readonly name: string;
  readonly state: TaskState;
  readonly counted: number;
  readonly kept: number;
}

/** Recounts in one snapshot, so that every difference is real, whatever other processes write meanwhile. */
export function recountApart({ db, sql }: Connection): readonly StatsDrift[] {
  db.exec('BEGIN');
  try {
    return recount(sql);
  } finally {
    db.exec('COMMIT');
  }
}

/** Inside a transaction of the caller: statements on different snapshots would find differences that do not exist. */
export function recount(sql: Prepared): readonly StatsDrift[] {
  const counted = new Map<number, number[]>();
  const add = (queue: number, state: number, n: number): void => {
    const row = counted.get(queue) ?? [0, 0, 0, 0];
    row[state] = (row[state] as number) + n;
    counted.set(queue, row);
  };
  const rows = (name: 'auditReady' | 'auditRunning' | 'auditDue'): { queue: number; state?: number; n: number }[] =>
    sql.get(name).all() as unknown as { queue: number; state?: number; n: number }[];
  for (const { queue, n } of rows('auditReady')) add(queue, 0, n);
  for (const { queue, n } of rows('auditRunning')) add(queue, 1, n);
  for (const { queue, state, n } of rows('auditDue')) add(queue, state as number, n);

  const drifts: StatsDrift[] = [];
  const queues = sql.get('queueNames').all() as unknown as { id: number; name: string }[];
  for (const { id, name } of queues) {
    const kept = sql.get('statGet').get(id) as Record<string, number> | undefined;
    for (const [state, n] of (counted.get(id) ?? [0, 0, 0, 0]).entries()) {
      const word = STATES[state] as TaskState;
      const keeps = kept?.[word] ?? 0;
      if (keeps !== n) drifts.push({ queue: id, name, state: word, counted: n, kept: keeps });
    }
  }
  return drifts;
}

/** Adds the difference instead of setting the value, so that commits since the recount stay counted. */
export function repair(sql: Prepared, drifts: readonly StatsDrift[]): void {
  for (const drift of drifts) {
    const deltas = STATES.map((state) => (state === drift.state ? drift.counted - drift.kept : 0));
    sql.get('statAdd').run(drift.queue, ...deltas);
  }
}
