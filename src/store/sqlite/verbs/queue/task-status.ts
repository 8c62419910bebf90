import { STATES, type TaskState } from '../../../../core/task/task.ts';
import type { Transaction } from '../../file/transaction.ts';

/** The state of a task; undefined: it is not kept. */
export function taskStatus(tx: Transaction, task: number): { state: TaskState; createdAt: number } | undefined {
  const row = tx.sql.get('taskStand').get(task) as { state: number; created_at: number } | undefined;
  return row && { state: STATES[row.state] as TaskState, createdAt: row.created_at };
}
