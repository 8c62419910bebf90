import { kindCode } from '../../../codes.ts';
import {
  entryOf,
  type HeadRow,
  headOf,
  inOrderOfTime,
  type JournalRow,
  type KnownEntry,
} from '../../../rows/journal-rows.ts';
import type { EntryKind, JournalEntry, JournalHead, StoredSize, Turn, TurnStore } from '../../../store.ts';
import { numbers, texts } from '../../arrays.ts';
import type { Session } from '../../connect/database.ts';

/** Finds the existing entry of a task and key. */
export type Known = (task: number, key: string) => KnownEntry | undefined;

const nameOf = (task: number, key: string): string => `${task}/${key}`;

export async function findEntries(session: Session, turns: readonly Turn[]): Promise<Known> {
  const wanted = turns.flatMap(({ task, entries }) => entries.map(({ key }) => ({ task, key })));
  return findKeys(session, wanted);
}

export async function findKeys(
  session: Session,
  wanted: readonly { readonly task: number; readonly key: string }[],
): Promise<Known> {
  if (wanted.length === 0) return () => undefined;
  const rows = await session.all<KnownEntry & { readonly task: number; readonly key: string }>('journalFind', [
    numbers(wanted.map(({ task }) => task)),
    texts(wanted.map(({ key }) => key)),
  ]);
  const byName = new Map(rows.map((row) => [nameOf(row.task, row.key), row]));
  return (task, key) => byName.get(nameOf(task, key));
}

export interface Added {
  readonly key: string;
  readonly kind: EntryKind;
  readonly value?: string | undefined;
  readonly began?: number | undefined;
  readonly ref?: number | undefined;
  readonly usage?: string | undefined;
}

/** Adds entries that do not exist yet, for an attempt that is known to run. */
export async function addEntries(
  session: Session,
  { task, attempt }: Pick<Turn, 'task' | 'attempt'>,
  entries: readonly Added[],
): Promise<void> {
  if (entries.length === 0) return;
  await session.rows('journalAdd', [
    numbers(entries.map(() => task)),
    texts(entries.map(({ key }) => key)),
    numbers(entries.map(({ kind }) => kindCode(kind))),
    numbers(entries.map(() => attempt)),
    texts(entries.map(({ value }) => value)),
    numbers(entries.map(({ began }) => began)),
    numbers(entries.map(({ ref }) => ref)),
    texts(entries.map(({ usage }) => usage)),
  ]);
}

export async function listJournal(session: Session, task: number): Promise<readonly JournalEntry[]> {
  return inOrderOfTime((await session.all<JournalRow>('journalList', [task])).map(entryOf));
}

export async function listHeads(
  session: Session,
  { tasks, after = '', limit }: Parameters<TurnStore['journalHeads']>[0],
): Promise<readonly JournalHead[]> {
  return (await session.all<HeadRow>('journalHeads', [numbers(tasks), after, limit])).map(headOf);
}

export async function readEntries(
  session: Session,
  task: number,
  keys: readonly string[],
): Promise<readonly JournalEntry[]> {
  const rows = await session.all<JournalRow>('journalEntries', [numbers(keys.map(() => task)), texts(keys)]);
  return inOrderOfTime(rows.map(entryOf));
}

export async function journalSize(session: Session, task: number): Promise<StoredSize> {
  const [size] = await session.all<StoredSize>('journalSize', [task]);
  return size ?? { entries: 0, bytes: 0 };
}
