import { chownSync, closeSync, existsSync, mkdirSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fault, isEngineError } from '../../core/errors.ts';
import { existing } from './connection.ts';
import {
  type Contents,
  type CopyWishes,
  checkCopy,
  copyDatabase,
  discard,
  explain,
  isTaken,
  publish,
  temporaryName,
} from './copy.ts';
import { isBusy, translate } from './errors.ts';
import { schemaStand } from './migrate.ts';
import { type Highs, highsOf, type Moved, moveAhead } from './move-ahead.ts';

export interface RestoreOptions extends CopyWishes {
  readonly file: string;
  readonly from: string;
  /** Whether a store that lies at `file` may be replaced. */
  readonly force: boolean;
  /** Calendar time. */
  readonly now: number;
}

export interface Restored extends Contents, Moved {}

/**
 * Puts a backup in the place of a store. Nothing at the place is touched until a copy of the backup lies beside it, was
 * read from end to end, and has moved ahead of everything that was handed out since (move-ahead.ts); then it is renamed.
 */
export async function restoreSqlite(options: RestoreOptions): Promise<Restored> {
  const { file, from, force } = options;
  requireWish(file, from, force);
  const temporary = temporaryName(file);
  try {
    mkdirSync(dirname(file), { recursive: true });
    discard(temporary);
    const contents = await copyChecked(from, temporary, options);
    options.signal?.throwIfAborted();
    return { ...contents, ...putInPlace(temporary, options) };
  } catch (error) {
    if (error === options.signal?.reason) throw error;
    throw isTaken(error) ? occupied(file) : explain(error, file);
  } finally {
    discard(temporary);
  }
}

function requireWish(file: string, from: string, force: boolean): void {
  const backup = statSync(from, { throwIfNoEntry: false });
  if (backup === undefined) throw fault('NOT_FOUND', { kind: 'backup', id: from }, { hint: 'Check the path.' });
  if (!backup.isFile()) throw fault('INVALID_INPUT', { field: 'FROM', problem: `${from} is no file` });
  const there = statSync(file, { throwIfNoEntry: false });
  if (there !== undefined && there.ino === backup.ino && there.dev === backup.dev)
    throw fault('INVALID_INPUT', { field: 'FROM', problem: 'it is the store itself' });
  // The log of a store whose file is gone: somebody may be working on it yet.
  if (!force && [file, `${file}-wal`, `${file}-shm`].some((path) => existsSync(path))) throw occupied(file);
}

async function copyChecked(from: string, temporary: string, wishes: CopyWishes): Promise<Contents> {
  let source: DatabaseSync | undefined;
  try {
    source = new DatabaseSync(from, { readOnly: true, timeout: 5000 });
    await copyDatabase(source, temporary, wishes);
    return checkCopy(temporary);
  } catch (error) {
    if (error === wishes.signal?.reason) throw error;
    const { code, message, details } = explain(error, from);
    if (code !== 'STORE_CORRUPT' && code !== 'INVALID_INPUT') throw explain(error, from);
    const hint = 'Take another backup; the store was not touched.';
    throw fault(code, { ...details, field: from, problem: details?.problem ?? message }, { hint, cause: error });
  } finally {
    source?.close();
  }
}

function putInPlace(temporary: string, { file, now }: RestoreOptions): Moved {
  const old = existsSync(file) ? new Hold(file) : undefined;
  try {
    const moved = moveFile(temporary, now, old?.highs());
    old?.giveOwner(temporary);
    // Of a store whose file is gone. Where there was one, its log went into it when it was locked.
    for (const tail of ['-wal', '-shm']) rmSync(`${file}${tail}`, { force: true });
    publish(temporary, file, { replace: old !== undefined });
    old?.spoil();
    return moved;
  } finally {
    old?.close();
  }
}

function moveFile(temporary: string, now: number, rival: Highs | undefined): Moved {
  const db = new DatabaseSync(temporary);
  try {
    // Nobody has it but us, and it is synced as a whole before it gets its name.
    db.exec('PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF');
    const moved = moveAhead(db, now, rival);
    // As every store: whoever opens it then makes no journal, which the lock on the old one, when it goes, would take along.
    db.exec('PRAGMA journal_mode = WAL');
    return moved;
  } finally {
    db.close();
  }
}

/**
 * The store that is to be replaced, kept from everybody else. A process that has it open holds a shared lock on the file for
 * as long, so the exclusive one is got only when there is none; it is kept over the rename.
 *
 * Who opens the old file in the moment before the rename waits for this lock, and would then work on a file that has no name
 * any more. So the old one is spoilt before the lock goes: it is no database then, and the next try opens the new one.
 */
class Hold {
  readonly #file: string;
  readonly #db: DatabaseSync;
  /** Opened before SQLite's own and closed after it: closing any handle of a file drops all locks that a process has on it. */
  readonly #fd: number;

  constructor(file: string) {
    this.#file = file;
    this.#fd = openSync(file, 'r+');
    let db: DatabaseSync | undefined;
    try {
      db = new DatabaseSync(existing(file), { timeout: 0 });
      // In this order: from here on SQLite gives no lock back, and the first access takes the exclusive one.
      db.exec('PRAGMA locking_mode = EXCLUSIVE');
      const { journal_mode: mode } = db.prepare('PRAGMA journal_mode = DELETE').get() as { journal_mode: string };
      if (mode !== 'delete') throw inUse(file);
      db.exec('BEGIN EXCLUSIVE');
      // What the change of mode left; it is committed, and the next owner of the name must not meet it.
      rmSync(`${file}-journal`, { force: true });
      this.#db = db;
    } catch (error) {
      db?.close();
      closeSync(this.#fd);
      throw refused(error, file);
    }
  }

  /** Undefined where it is no store, or cannot be read any more. */
  highs(): Highs | undefined {
    try {
      return schemaStand(this.#db).version === 0 ? undefined : highsOf(this.#db);
    } catch {
      return undefined;
    }
  }

  /** The processes that use the store may not be those of whoever restores it. */
  giveOwner(temporary: string): void {
    const [there, ours] = [statSync(this.#file), statSync(temporary)];
    if (there.uid === ours.uid && there.gid === ours.gid) return;
    try {
      chownSync(temporary, there.uid, there.gid);
    } catch (error) {
      const problem = `${this.#file} belongs to another user, to whom this one cannot give the new file`;
      throw fault('CONFLICT', { problem }, { hint: 'Restore as the user that the store belongs to.', cause: error });
    }
  }

  spoil(): void {
    writeSync(this.#fd, 'This store was replaced by a restore.'.padEnd(100), 0, 'latin1');
  }

  close(): void {
    this.#db.close();
    closeSync(this.#fd);
  }
}

function refused(error: unknown, file: string): Error {
  if (isBusy(error)) return inUse(file);
  if (!isEngineError(translate(error, file), 'STORE_CORRUPT')) return translate(error, file);
  return fault(
    'CONFLICT',
    { file, problem: `${file} is damaged, so nobody can tell whether a process has it open` },
    {
      hint: `Stop everything that uses it, move it away (mv ${file} ${file}.damaged), and restore again.`,
      cause: error,
    },
  );
}

function inUse(file: string): Error {
  return fault(
    'STORE_BUSY',
    { file, problem: 'a process has it open' },
    { hint: 'Stop all nodes, workers and programs that use the store, and restore again; nothing was changed.' },
  );
}

function occupied(file: string): Error {
  return fault(
    'CONFLICT',
    { file, problem: `there is a store at ${file}` },
    { hint: 'Say --force to replace it: what happened in it since the backup is lost then.' },
  );
}
