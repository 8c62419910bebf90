import { REMOVING } from '../../codes.ts';
import { type Fragments } from './fragments.ts';

/** Statements that remove what is old. */
export function pruneStatements({ s, NOW }: Fragments) {
  /** A range, as for all lookups by root. */
  const all = (root: string): string => `root IS NOT NULL AND root >= ${root} AND root <= ${root}`;
  /** No such row. From an EXISTS the planner may make a join over a whole table. */
  const none = (rows: string): string => `(SELECT 1 FROM ${rows} LIMIT 1) IS NULL`;
  /** No unfinished task depends on this one. */
  const free = (task: string): string =>
    none(`${s}.dep d CROSS JOIN LATERAL (SELECT FROM ${s}.task WHERE id = d.down OFFSET 0) n WHERE d.up = ${task}`);

  return {
    pruneOps: `DELETE FROM ${s}.op WHERE id = ANY(ARRAY(SELECT id FROM ${s}.op WHERE until < ${NOW} LIMIT $1))`,
    pruneFlights: `DELETE FROM ${s}.flight WHERE (store, n) IN (SELECT store, n FROM ${s}.flight WHERE at < ${NOW} - $1 LIMIT $2)`,
    pruneEventsLook: `SELECT seq, n, at FROM ${s}.event ORDER BY seq LIMIT $1`,
    pruneEvents: `DELETE FROM ${s}.event WHERE seq <= $1 AND seq < (SELECT max(seq) FROM ${s}.event)`,
    pruneWorkers: `DELETE FROM ${s}.worker WHERE id = ANY(ARRAY(SELECT w.id FROM ${s}.worker w
      WHERE w.state IN (3, 4) AND w.beat_at < ${NOW} - $1
      AND NOT EXISTS (SELECT FROM ${s}.task t WHERE t.state = 1 AND t.holder = w.id) LIMIT $2)) RETURNING id`,
    /** No worker of the name is kept any more. */
    pruneTotals: `DELETE FROM ${s}.worker_total t WHERE NOT EXISTS (SELECT FROM ${s}.worker w WHERE w.name = t.name)`,
    /** Rows of removed tasks. */
    pruneBodies: `DELETE FROM ${s}.body WHERE task = ANY($1::bigint[])`,
    pruneAttempts: `DELETE FROM ${s}.attempt WHERE task = ANY($1::bigint[])`,
    pruneLogs: `DELETE FROM ${s}.log WHERE task = ANY($1::bigint[])`,
    pruneDeps: `DELETE FROM ${s}.dep WHERE down = ANY($1::bigint[])`,
    pruneUniq: `DELETE FROM ${s}.uniq WHERE task = ANY($1::bigint[])`,
    pruneWaits: `DELETE FROM ${s}.wait WHERE task = ANY($1::bigint[])`,
    pruneJournals: `DELETE FROM ${s}.journal WHERE task = ANY($1::bigint[])`,
    /**
     * From the oldest on, because numbers and times grow together. A signal that an unfinished task may still wait for
     * stays: it was younger than the retention $3 when that task was made.
     */
    pruneSignals: `DELETE FROM ${s}.signal WHERE id = ANY(ARRAY(SELECT id FROM
      (SELECT id, at FROM ${s}.signal ORDER BY id LIMIT $2) x WHERE at < $1
        AND at < coalesce((SELECT created_at FROM ${s}.task ORDER BY id LIMIT 1) - $3::bigint, $1))) RETURNING id`,

    // No member is revived while the row of its finished root is locked.
    pruneRoots: `SELECT id FROM ${s}.done WHERE id = ANY($1::bigint[]) AND ended_at < $2 ORDER BY id FOR UPDATE`,
    /** The roots among these whose trees can go: no member is unfinished or too young, and no unfinished task needs one. */
    pruneTrees: `SELECT r.id FROM unnest($1::bigint[]) r(id) WHERE ${free('r.id')} AND ${none(`${s}.task WHERE ${all('r.id')}`)}
        AND ${none(`${s}.done m WHERE ${all('r.id')} AND (m.ended_at >= $2 OR NOT ${free('m.id')})`)}`,
    pruneMark: `UPDATE ${s}.done SET flags = flags | ${REMOVING} WHERE id = ANY($1::bigint[]) AND flags & ${REMOVING} = 0`,
    pruneMembers: `DELETE FROM ${s}.done WHERE id = ANY(ARRAY(SELECT id FROM ${s}.done WHERE root IS NOT NULL AND (root, id) > ($1, 0)
      AND root <= $1 ORDER BY root, id LIMIT $2)) RETURNING id`,
    pruneRoot: `DELETE FROM ${s}.done WHERE id = $1 RETURNING id`,
    /** Removed tasks that another task has come to need while their locks were waited for. */
    pruneNeeded: `SELECT up FROM unnest($1::bigint[]) x(up) WHERE NOT ${free('x.up')}`,
    pruneDone: `DELETE FROM ${s}.done h WHERE h.id = ANY($1::bigint[]) AND h.ended_at < $2 AND ${free('h.id')} RETURNING id`,
  } as const;
}
