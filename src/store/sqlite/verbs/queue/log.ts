import type { Lease } from '../../../../core/task/lease.ts';
import { type LogEntry, STREAMS } from '../../../../core/task/log.ts';
import { type LogRow, lineOf } from '../../../rows/log-rows.ts';
import type { LogAnswer, LogAppend, LogLine, LogQuery, StoredSize } from '../../../store.ts';
import type { Prepared } from '../../file/connection.ts';
import type { Transaction } from '../../file/transaction.ts';

/** The read holds for the writes that follow it: this transaction is the only writer. */
export function appendLog(tx: Transaction, { task, attempt, entries }: LogAppend): LogAnswer {
  if (tx.sql.get('logFence').get(task, attempt) === undefined) return 'lost';
  appendLines(tx, { task, attempt }, entries);
  return 'done';
}

/** For an attempt that is known to run. */
export function appendLines(tx: Transaction, { task, attempt }: Lease, entries: readonly LogEntry[]): void {
  const add = tx.sql.get('logAdd');
  for (const { seq, at, stream, text } of entries) add.run(task, attempt, seq, at, STREAMS.indexOf(stream), text);
}

export function readLog(sql: Prepared, { task, after, limit }: LogQuery): readonly LogLine[] {
  const rows = sql.get('logRead').all(task, after?.attempt ?? 0, after?.seq ?? 0, limit) as unknown as LogRow[];
  return rows.map(lineOf);
}

export function logSize(sql: Prepared, { task, attempt }: Lease): StoredSize {
  const { entries, bytes } = sql.get('logSize').get(task, attempt) as unknown as StoredSize;
  return { entries, bytes };
}
