import { type ResultRow, resultOf } from '../../../rows/result-rows.ts';
import type { KeepAnswer, KeptResult, NewResult, ResultQuery } from '../../../store.ts';
import type { Prepared } from '../../file/connection.ts';
import type { Transaction } from '../../file/transaction.ts';

export function findResult(sql: Prepared, { key, maxAgeMs }: ResultQuery, now: number): KeptResult | undefined {
  const row = sql.get('resultFind').get(key, now, now - maxAgeMs) as ResultRow | undefined;
  return row && resultOf(row);
}

/** The read holds for the write that follows it: this transaction is the only writer. */
export function keepResult(tx: Transaction, item: NewResult): KeepAnswer {
  const { task, attempt, key, value, maxAgeMs } = item;
  const held = tx.sql.get('resultFence').get(task, attempt) as { created_at: number } | undefined;
  if (held === undefined) return 'lost';
  const first = findResult(tx.sql, item, tx.now);
  // The caller repeats a call whose answer was lost.
  if (first !== undefined) return first.task === task && first.attempt === attempt ? 'stored' : 'kept';
  tx.sql.get('resultPut').run(key, task, attempt, held.created_at, value ?? null, tx.now, tx.now + maxAgeMs);
  return 'stored';
}
