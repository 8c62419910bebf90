import { STATES } from '../../../core/task/task.ts';

/** The row of a member names its root. The row of a root has only a flag that says that it has members. */
export const TREE_STATEMENTS = {
  treeMark: 'UPDATE task SET flags = flags | 128 WHERE id = ? AND flags & 128 = 0',
  treeList: `SELECT t.id, t.parent, t.created_at, q.name AS queue, l.handler, t.state, t.reason, t.attempt, t.cancel_at
    FROM task t INDEXED BY task_root CROSS JOIN lane l ON l.id = t.lane CROSS JOIN queue q ON q.id = l.queue
    WHERE t.root = ? AND t.id > ? ORDER BY t.id LIMIT ?`,
  treeCount: `SELECT ${STATES.map((state, i) => `coalesce(sum(state = ${i}), 0) AS ${state}`).join(', ')} FROM (
    SELECT state FROM task INDEXED BY task_root WHERE root = ?1 UNION ALL SELECT state FROM task WHERE id = ?1)`,
} as const;
