import type { Checkpoint, CheckpointAnswer, NewCheckpoint } from '../../store.ts';
import { inOrderOfTime } from '../../wait-rows.ts';
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

export function listCheckpoints(sql: Prepared, task: number): readonly Checkpoint[] {
  const rows = sql.get('checkpointList').all(task) as unknown as Checkpoint[];
  return inOrderOfTime(rows.map(({ key, attempt, value, at }) => ({ key, attempt, value, at })));
}
