import { closeSync, openSync, rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { fault, isEngineError } from '../../../core/errors.ts';
import { existing } from './connection.ts';
import { isBusy, translate } from './errors.ts';

/**
 * A store file under an exclusive lock. Every process that has the file open holds a shared lock, so the exclusive one
 * is granted only when there is none. It is kept until the end, over commits and a rename. Begins with a transaction.
 */
export class LockedFile {
  readonly file: string;
  readonly db: DatabaseSync;
  /** Opened before SQLite's handle and closed after it: closing any handle of a file drops all locks of the process on it. */
  readonly fd: number;

  constructor(file: string, again: string) {
    this.file = file;
    this.fd = openSync(file, 'r+');
    let db: DatabaseSync | undefined;
    try {
      db = new DatabaseSync(existing(file), { timeout: 0 });
      // This order matters: from here on SQLite gives no lock back, and the first access takes the exclusive one.
      db.exec('PRAGMA locking_mode = EXCLUSIVE');
      const { journal_mode: mode } = db.prepare('PRAGMA journal_mode = DELETE').get() as { journal_mode: string };
      if (mode !== 'delete') throw inUse(file, again);
      db.exec('PRAGMA synchronous = FULL; BEGIN EXCLUSIVE');
      // The change of mode leaves a committed journal, which the next owner of the name must not find.
      rmSync(`${file}-journal`, { force: true });
      this.db = db;
    } catch (error) {
      db?.close();
      closeSync(this.fd);
      throw refused(error, file, again);
    }
  }

  close(): void {
    this.db.close();
    closeSync(this.fd);
  }
}

function refused(error: unknown, file: string, again: string): Error {
  if (isBusy(error)) return inUse(file, again);
  if (!isEngineError(translate(error, file), 'STORE_CORRUPT')) return translate(error, file);
  return fault(
    'CONFLICT',
    { file, problem: `${file} is damaged, so nobody can tell whether a process has it open` },
    {
      hint: `Stop everything that uses it, move it away (mv ${file} ${file}.damaged), and ${again} again.`,
      cause: error,
    },
  );
}

function inUse(file: string, again: string): Error {
  return fault(
    'STORE_BUSY',
    { file, problem: 'a process has it open' },
    { hint: `Stop all nodes, workers and programs that use the store, and ${again} again; nothing was changed.` },
  );
}
