import type { Checkpoint, CheckpointAnswer, FoundCheckpoint, NewCheckpoint } from '../../store.ts';
import { endOf, inOrderOfKey, inOrderOfTime } from '../../wait-rows.ts';
import type { Prepared } from '../connection.ts';
import type { Transaction } from '../transaction.ts';

/** Values above this lie apart, so that a look at what is there does not read them. */
const INLINE_LENGTH = 4096;

/** The look holds for the write that follows it: this transaction is the only writer. */
export function putCheckpoint(tx: Transaction, { task, attempt, key, value }: NewCheckpoint): CheckpointAnswer {
  if (tx.sql.get('logFence').get(task, attempt) === undefined) return { kind: 'lost' };
  const inline = value.length <= INLINE_LENGTH;
  if (tx.sql.get('checkpointAdd').run(task, key, attempt, inline ? value : null, tx.now).changes > 0) {
    if (!inline) tx.sql.get('checkpointBodyAdd').run(task, key, value);
    return { kind: 'stored' };
  }
  const first = tx.sql.get('checkpointGet').get(task, key) as { attempt: number; value: string };
  // The caller repeats itself because its answer was lost.
  if (first.attempt === attempt && first.value === value) return { kind: 'stored' };
  return { kind: 'kept', value: first.value };
}

export function forgetCheckpoint(tx: Transaction, task: number, key: string): void {
  tx.sql.get('checkpointForget').run(task, key);
  tx.sql.get('checkpointBodyForget').run(task, key);
}

export function scanCheckpoints(sql: Prepared, tasks: readonly number[], prefix: string): readonly FoundCheckpoint[] {
  const find = (task: number) => sql.get('checkpointScan').all(task, prefix, endOf(prefix));
  const rows = [...new Set(tasks)].flatMap(find) as unknown as FoundCheckpoint[];
  return inOrderOfKey(rows.map(({ task, key, value }) => ({ task, key, value })));
}

export function listCheckpoints(sql: Prepared, task: number): readonly Checkpoint[] {
  const rows = sql.get('checkpointList').all(task) as unknown as Checkpoint[];
  return inOrderOfTime(rows.map(({ key, attempt, value, at }) => ({ key, attempt, value, at })));
}
