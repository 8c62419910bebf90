import type { Lease } from '../../core/task/lease.ts';
import type { LogEntry } from '../../core/task/log.ts';

/** The part of the port for the lines that attempts write. */
export interface LogStore {
  /** Adds lines to the log of a running attempt; a line that is there already stays as it is. */
  logAppend(params: { readonly items: readonly LogAppend[] }): Promise<readonly LogAnswer[]>;
  /** Lines above `after`, ordered by attempt and number. */
  logRead(params: LogQuery): Promise<readonly LogLine[]>;
  /** How many lines the log of an attempt has, and their bytes in UTF-8. Reads all of them. */
  logSize(params: { readonly task: number; readonly attempt: number }): Promise<StoredSize>;
}

/** How much is stored: so many rows, so many bytes of text. */
export interface StoredSize {
  readonly entries: number;
  readonly bytes: number;
}

export interface LogAppend extends Lease {
  readonly entries: readonly LogEntry[];
}

/** `lost`: another attempt owns the task, or none does. Nothing was added. */
export type LogAnswer = 'done' | 'lost';

/** The place of a line in its task's log. */
export interface LogPlace {
  readonly attempt: number;
  readonly seq: number;
}

export interface LogQuery {
  readonly task: number;
  readonly after?: LogPlace | undefined;
  readonly limit: number;
}

export interface LogLine extends LogEntry {
  readonly attempt: number;
}
