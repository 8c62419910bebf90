import { utf8Length } from './payload.ts';

/**
 * The bound of one task's journal: its checkpoints, waits, children and signals together. A worker reads all of it in one answer of
 * its node, so that what one link can write every link can read.
 */
export const MAX_JOURNAL_BYTES: number = 8 * 1024 * 1024;
export const MAX_JOURNAL_ENTRIES = 100_000;

/** What an entry takes of the bound: key, value and usage in UTF-8. */
export function entryBytes(entry: {
  readonly key: string;
  readonly value?: string | undefined;
  readonly usage?: string | undefined;
}): number {
  const { key, value = '', usage = '' } = entry;
  return utf8Length(key) + utf8Length(value) + utf8Length(usage);
}
