import { closeSync, existsSync, fsyncSync, linkSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { type EngineError, fault, isEngineError } from '../../../core/errors.ts';
import { STATES, type TaskState } from '../../../core/task/task.ts';
import { planMigrations } from '../../migrations.ts';
import { translate } from '../file/errors.ts';
import { MIGRATIONS, schemaStatus } from './migrate.ts';

/** Reports the progress of a copy. */
export type OnCopied = (bytes: { readonly done: number; readonly total: number }) => void;

export interface CopyWishes {
  readonly onCopied?: OnCopied | undefined;
  /** Stops the copy, which then rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
}

/** What is in a store, counted when its copy was checked. */
export interface Contents {
  readonly bytes: number;
  readonly schema: number;
  readonly queues: number;
  readonly tasks: Readonly<Record<TaskState, number>>;
}

/** Pages of 4 KB. A step blocks no other process, so this is only how often progress is reported. */
const PAGES_A_STEP = 1000;

/**
 * Copies one snapshot of a database while others write to it.
 *
 * The read transaction makes it end: without it SQLite starts over whenever another process commits, and under constant
 * writes never finishes (seen: 1000 steps for a file of 55). It blocks no writer; only the WAL cannot start over until
 * it is done. VACUUM INTO would do that too and takes as long, but reports no progress and cannot be stopped.
 */
export async function copyDatabase(from: DatabaseSync, to: string, wishes: CopyWishes): Promise<void> {
  const { onCopied, signal } = wishes;
  const { page_size: pageSize } = from.prepare('PRAGMA page_size').get() as { page_size: number };
  const report = (done: number, total: number): void => {
    onCopied?.({ done: done * pageSize, total: total * pageSize });
    signal?.throwIfAborted();
  };
  from.exec('BEGIN');
  try {
    from.prepare('SELECT count(*) FROM sqlite_schema').get();
    // Only its user may read it, from its first byte on.
    closeSync(openSync(to, 'wx', 0o600));
    const pages = await backup(from, to, {
      rate: PAGES_A_STEP,
      progress: ({ totalPages, remainingPages }) => report(totalPages - remainingPages, totalPages),
    });
    // SQLite reports no progress for the last step.
    report(pages, pages);
  } finally {
    from.exec('ROLLBACK');
  }
}

/**
 * Reads a copy from end to end: every page and index is sound, it is a store, and this program understands it. The copy
 * becomes one plain file, without a WAL beside it.
 */
export function checkCopy(file: string): Contents {
  const db = new DatabaseSync(file);
  try {
    db.exec('PRAGMA journal_mode = DELETE');
    const complaints = db
      .prepare('PRAGMA integrity_check(5)')
      .all()
      .map((row) => String(Object.values(row)[0]));
    if (complaints.join() !== 'ok') throw fault('STORE_CORRUPT', { problem: complaints.join('; ') });
    return contentsOf(db);
  } finally {
    db.close();
  }
}

function contentsOf(db: DatabaseSync): Contents {
  const { version, compatibleFrom } = schemaStatus(db);
  if (version === 0) throw fault('INVALID_INPUT', { field: 'file', problem: 'it is no store of leasehold' });
  planMigrations(MIGRATIONS, version, compatibleFrom);
  const number = (sql: string): number => Number(Object.values(db.prepare(sql).get() ?? {})[0]);
  // Lane 0 has the row that a restore leaves to reserve ids. It is no task.
  const counted = db.prepare('SELECT state, count(*) AS n FROM task WHERE lane > 0 GROUP BY state').all();
  const countOf = (state: number): number => Number(counted.find((row) => row.state === state)?.n ?? 0);
  return {
    bytes: number('PRAGMA page_count') * number('PRAGMA page_size'),
    schema: version,
    queues: number('SELECT count(*) FROM queue'),
    tasks: Object.fromEntries(STATES.map((state, i) => [state, countOf(i)])) as Record<TaskState, number>,
  };
}

/** Gives a finished file its name, so that it survives the loss of power. Without `replace` only if the name is free. */
export function publish(temporary: string, name: string, { replace }: { readonly replace: boolean }): void {
  syncToDisk(temporary);
  if (replace) renameSync(temporary, name);
  else nameOnce(temporary, name);
  syncToDisk(dirname(name));
}

/** Unlike a rename, a link fails if another process was faster. Some file systems have no links; then a check must do. */
function nameOnce(temporary: string, name: string): void {
  try {
    linkSync(temporary, name);
    rmSync(temporary);
  } catch (error) {
    if (isTaken(error) || existsSync(name)) throw error;
    renameSync(temporary, name);
  }
}

function syncToDisk(path: string): void {
  const fd = openSync(path, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Another process took the name first. */
export function isTaken(error: unknown): boolean {
  const { code, syscall } = (error ?? {}) as NodeJS.ErrnoException;
  return code === 'EEXIST' && syscall === 'link';
}

/** Translates errors of SQLite and of the file system. */
export function explain(error: unknown, path: string): EngineError {
  const { code, syscall, message } = error as NodeJS.ErrnoException;
  if (isEngineError(error) || syscall === undefined) return translate(error, path);
  if (code === 'ENOSPC' || code === 'EDQUOT') return fault('STORE_FULL', { file: path }, { cause: error });
  return fault('STORE_UNAVAILABLE', { file: path, problem: message }, { cause: error, hint: `Look at ${path}.` });
}

/** Beside its final place, so that the rename stays on one disk. */
export function temporaryName(name: string): string {
  return `${name}.partial-${process.pid}`;
}

/**
 * Removes a temporary file and what SQLite may have put beside it. What cannot be removed stays: the work itself
 * reports what is wrong.
 */
export function discard(temporary: string): void {
  for (const tail of ['', '-journal', '-wal', '-shm']) {
    try {
      rmSync(`${temporary}${tail}`, { force: true });
    } catch {
      // The folder is gone or not writable.
    }
  }
}
