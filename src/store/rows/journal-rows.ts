import type { TaskState } from '../../core/task/task.ts';
import { ENTRY_KINDS, kindCode } from '../codes.ts';
import type { EntryAnswer, EntryKind, JournalEntry, JournalHead, NewEntry, Turn } from '../port/turn-store.ts';

/** Entries of journals from rows whose columns have the same names in every store, and the answers for existing entries. */

export interface JournalRow {
  readonly key: string;
  readonly kind: number;
  readonly attempt: number;
  readonly at: number;
  readonly value: string | null;
  readonly ref: number | null;
  readonly began: number | null;
  readonly usage: string | null;
}

export function entryOf(row: JournalRow): JournalEntry {
  return {
    key: row.key,
    kind: ENTRY_KINDS[row.kind] as EntryKind,
    attempt: row.attempt,
    at: row.at,
    value: row.value ?? undefined,
    ref: row.ref ?? undefined,
    began: row.began ?? undefined,
    usage: row.usage ?? undefined,
  };
}

export interface HeadRow extends Omit<JournalRow, 'value'> {
  readonly task: number;
  readonly size: number;
  readonly head: string | null;
}

export function headOf({ task, size, head, ...row }: HeadRow): JournalHead {
  const { value: _value, ...entry } = entryOf({ ...row, value: null });
  return { task, ...entry, size, head: head ?? undefined };
}

/** Sorted here, because databases do not agree on the order of texts. */
export function inOrderOfTime(entries: readonly JournalEntry[]): readonly JournalEntry[] {
  return entries.toSorted((a, b) => a.at - b.at || (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
}

/** The columns of an existing entry that decide the answer to a turn with the same key. */
export type KnownEntry = Pick<JournalRow, 'kind' | 'attempt' | 'ref' | 'value'>;

/**
 * The same value from the same attempt is a repeat whose answer was lost. Any other value finds the first one kept.
 * `stateOf` returns the state of a child.
 */
export function keptAnswer(
  { attempt }: Pick<Turn, 'attempt'>,
  entry: NewEntry,
  known: KnownEntry,
  stateOf: (child: number) => TaskState,
): EntryAnswer {
  const { kind, ref, value } = known;
  if (entry.kind === 'child' && kind === kindCode('child') && ref !== null) {
    return { kind: 'child', task: ref, createdAt: Number(value), state: stateOf(ref), fresh: false };
  }
  if (entry.kind === 'signal' && kind === kindCode('signal')) return { kind: 'stored' };
  const same = 'value' in entry && entry.value === value && known.attempt === attempt;
  return same ? { kind: 'stored' } : { kind: 'kept', value: value ?? 'null' };
}
