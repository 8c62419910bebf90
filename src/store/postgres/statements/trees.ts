import { REMOVING, TREE } from '../../codes.ts';
import { type Fragments } from './fragments.ts';

/**
 * Statements of trees. The row of a member names its root; the row of a root has only a flag for its members. Lookups
 * by root are written as a range from the root to itself: for `root = $1` in the order of ids the planner would walk
 * the whole primary key.
 */
export function treeStatements({ s }: Fragments) {
  const members = (table: 'task' | 'done', reason: string): string => `SELECT t.id, t.parent, t.created_at,
      (SELECT name FROM ${s}.queue q WHERE q.id = t.queue) AS queue, (SELECT handler FROM ${s}.lane l WHERE l.id = t.lane) AS handler,
      t.state, ${reason} AS reason, t.attempt, t.cancel_at FROM ${s}.${table} t
    WHERE t.root IS NOT NULL AND (t.root, t.id) > ($1, $2) AND t.root <= $1 ORDER BY t.root, t.id LIMIT $3`;
  const all = (root: string): string => `root IS NOT NULL AND root >= ${root} AND root <= ${root}`;

  return {
    treeMark: `UPDATE ${s}.task SET flags = flags | ${TREE} WHERE id = $1 AND flags & ${TREE} = 0`,
    /** A page of each table. The reader merges them. */
    treeList: `(${members('task', '0::smallint')}) UNION ALL (${members('done', 't.reason')})`,
    treeCount: `SELECT state, count(*) AS n FROM (SELECT state FROM ${s}.task WHERE ${all('$1')}
        UNION ALL SELECT state FROM ${s}.done WHERE ${all('$1')}
        UNION ALL SELECT state FROM ${s}.task WHERE id = $1 UNION ALL SELECT state FROM ${s}.done WHERE id = $1) m GROUP BY state`,
    /** Locks the roots of these finished tasks until the commit, in whichever table they are. */
    rootsOf: `SELECT id, root FROM ${s}.done WHERE id = ANY($1::bigint[])`,
    rootsLive: `SELECT id FROM ${s}.task WHERE id = ANY($1::bigint[]) ORDER BY id FOR KEY SHARE`,
    rootsDone: `SELECT id, flags FROM ${s}.done WHERE id = ANY($1::bigint[]) ORDER BY id FOR SHARE`,
    /** Locks finished tasks that a new task will need. Their roots are locked already. */
    endHold: `SELECT h.id, h.state FROM ${s}.done h WHERE h.id = ANY($1::bigint[]) AND h.flags & ${REMOVING} = 0
        AND (h.root IS NULL OR (SELECT r.flags FROM ${s}.done r WHERE r.id = h.root LIMIT 1) & ${REMOVING} IS DISTINCT FROM ${REMOVING})
      ORDER BY h.id FOR KEY SHARE OF h`,
    /** The state of a task that was not revived; `gone`: its root no longer exists. */
    reviveLook: `SELECT x.state, x.lane, coalesce(r.flags, 0) & ${REMOVING} <> 0 AS removing,
        x.root IS NOT NULL AND r.flags IS NULL AS gone
      FROM (SELECT id, state, lane, root FROM ${s}.task WHERE id = $1
        UNION ALL SELECT id, state, lane, root FROM ${s}.done WHERE id = $1) x
      LEFT JOIN LATERAL (SELECT flags FROM ${s}.task WHERE id = coalesce(x.root, x.id)
        UNION ALL SELECT flags FROM ${s}.done WHERE id = coalesce(x.root, x.id) LIMIT 1) r ON true`,
  } as const;
}
