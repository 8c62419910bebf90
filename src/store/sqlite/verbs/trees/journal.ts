import type { TaskState } from '../../../../core/task/task.ts';
import { kindCode } from '../../../codes.ts';
import {
  entryOf,
  type HeadRow,
  headOf,
  inOrderOfTime,
  type JournalRow,
  type KnownEntry,
  keptAnswer,
} from '../../../rows/journal-rows.ts';
import type {
  EntryAnswer,
  JournalEntry,
  JournalHead,
  NewEntry,
  NewValue,
  StoredSize,
  Turn,
  TurnStore,
} from '../../../store.ts';
import type { Prepared } from '../../file/connection.ts';
import type { Transaction } from '../../file/transaction.ts';
import { taskStatus } from '../queue/task-status.ts';

export function findEntry(sql: Prepared, task: number, key: string): KnownEntry | undefined {
  return sql.get('journalGet').get(task, key) as KnownEntry | undefined;
}

/** False: the key exists already. */
export function addEntry(
  tx: Transaction,
  { task, attempt }: Turn,
  { key, kind }: NewEntry,
  said: { readonly ref?: number; readonly value?: string; readonly began?: number; readonly usage?: string } = {},
): boolean {
  const { began = null, ref = null, usage = null, value = null } = said;
  const values = [task, key, kindCode(kind), attempt, began, tx.now, ref, usage, value] as const;
  return tx.sql.get('journalAdd').run(...values).changes > 0;
}

/** Reads the existing entry only if there is one. */
export function putValue(tx: Transaction, turn: Turn, entry: NewValue): EntryAnswer {
  const { value, began, usage } = entry;
  const said = { value, ...(began === undefined ? {} : { began }), ...(usage === undefined ? {} : { usage }) };
  if (addEntry(tx, turn, entry, said)) return { kind: 'stored' };
  return answerOf(tx, turn, entry, findEntry(tx.sql, turn.task, entry.key) as KnownEntry);
}

/** The answer for an existing entry. */
export function answerOf(tx: Transaction, turn: Turn, entry: NewEntry, known: KnownEntry): EntryAnswer {
  return keptAnswer(turn, entry, known, (child): TaskState => taskStatus(tx, child)?.state ?? 'completed');
}

export function forgetEntry(tx: Transaction, task: number, key: string): void {
  tx.sql.get('journalForget').run(task, key);
}

export function listJournal(sql: Prepared, task: number): readonly JournalEntry[] {
  return inOrderOfTime((sql.get('journalList').all(task) as unknown as JournalRow[]).map(entryOf));
}

export function listHeads(
  sql: Prepared,
  { tasks, after = '', limit }: Parameters<TurnStore['journalHeads']>[0],
): readonly JournalHead[] {
  const heads: JournalHead[] = [];
  for (const [i, task] of tasks.entries()) {
    if (heads.length >= limit) break;
    const rows = sql.get('journalHeads').all(task, i === 0 ? after : '', limit - heads.length);
    heads.push(...(rows as unknown as HeadRow[]).map(headOf));
  }
  return heads;
}

export function readEntries(sql: Prepared, task: number, keys: readonly string[]): readonly JournalEntry[] {
  const rows = keys.flatMap((key) => (sql.get('journalEntry').get(task, key) as JournalRow | undefined) ?? []);
  return inOrderOfTime(rows.map(entryOf));
}

export function journalSize(sql: Prepared, task: number): StoredSize {
  const { entries, bytes } = sql.get('journalSize').get(task) as unknown as StoredSize;
  return { entries, bytes };
}
