import { chownSync, existsSync, mkdirSync, rmSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fault } from '../../../core/errors.ts';
import { LockedFile } from '../file/locked-file.ts';
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
import { accessIn, type EndedAccess, endAccess, type KnownAccess, keepSecret } from './end-access.ts';
import { schemaStatus } from './migrate.ts';
import { type Highs, highsOf, type Moved, moveAhead } from './move-ahead.ts';
import { raiseVersions } from './restore-credentials.ts';

export interface RestoreOptions extends CopyWishes {
  readonly file: string;
  readonly from: string;
  /** Whether a store at `file` may be replaced. */
  readonly force: boolean;
  /** Whether tokens, secrets and sessions stay as they are in the backup. */
  readonly keepTokens?: boolean | undefined;
  /** Calendar time. */
  readonly now: number;
}

export interface Restored extends Contents, Moved {
  /** Whether there was a store that could tell which tokens are live. */
  readonly knewTokens: boolean;
  /** Undefined: all of them were kept. */
  readonly ended: EndedAccess | undefined;
}

/**
 * Replaces a store by a backup. Nothing at the place is touched until a copy of the backup is beside it, was read from
 * end to end, was moved ahead of everything that was handed out since (move-ahead.ts), and lost the tokens that may have
 * been revoked since (end-access.ts). Then the copy is renamed.
 */
export async function restoreSqlite(options: RestoreOptions): Promise<Restored> {
  const { file, from, force } = options;
  requireWish(file, from, force);
  const temporary = temporaryName(file);
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
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
  // The WAL of a store whose file is gone: a process may still work on it.
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

function putInPlace(temporary: string, options: RestoreOptions): Omit<Restored, keyof Contents> {
  const { file } = options;
  const old = existsSync(file) ? new LockedFile(file, 'restore') : undefined;
  try {
    const moved = changeFile(temporary, options, old && knownIn(old, options.now));
    if (old !== undefined) giveOwner(temporary, old);
    // The WAL of a store whose file is gone. If there was a file, its WAL went into it when it was locked. The bell is of somebody who was killed.
    for (const tail of ['-wal', '-shm', '-bell']) rmSync(`${file}${tail}`, { force: true });
    publish(temporary, file, { replace: old !== undefined });
    if (old !== undefined) spoil(old);
    return moved;
  } finally {
    old?.close();
  }
}

/** What is read of the store that is replaced. */
interface Known {
  readonly highs: Highs;
  readonly access: KnownAccess;
}

function changeFile(
  temporary: string,
  { now, keepTokens = false }: RestoreOptions,
  known: Known | undefined,
): Omit<Restored, keyof Contents> {
  const db = new DatabaseSync(temporary);
  try {
    // No other process has it open, and it is synced as a whole before it gets its name.
    db.exec('PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF');
    const moved = moveAhead(db, now, known?.highs);
    if (known !== undefined) keepSecret(db, known.access);
    raiseVersions(db, known?.access.credentials);
    const ended = keepTokens ? undefined : endAccess(db, now, known?.access);
    // As every store. A process that opens it then makes no rollback journal, which would be removed with the lock on
    // the old file.
    db.exec('PRAGMA journal_mode = WAL');
    return { ...moved, knewTokens: known !== undefined, ended };
  } finally {
    db.close();
  }
}

/** Undefined if it is no store or cannot be read any more. */
function knownIn({ db }: LockedFile, now: number): Known | undefined {
  try {
    return schemaStatus(db).version === 0 ? undefined : { highs: highsOf(db), access: accessIn(db, now) };
  } catch {
    return undefined;
  }
}

/** The processes that use the store may belong to another user than the one who restores it. */
function giveOwner(temporary: string, { file }: LockedFile): void {
  const [there, ours] = [statSync(file), statSync(temporary)];
  if (there.uid === ours.uid && there.gid === ours.gid) return;
  try {
    chownSync(temporary, there.uid, there.gid);
  } catch (error) {
    const problem = `${file} belongs to another user, to whom this one cannot give the new file`;
    throw fault('CONFLICT', { problem }, { hint: 'Restore as the user that the store belongs to.', cause: error });
  }
}

/**
 * A process that opens the old file just before the rename waits for our lock on it, and would then work on a file
 * without a name. So the file is spoilt before the lock goes: it is no database then, and the next try opens the new
 * one.
 */
function spoil({ fd }: LockedFile): void {
  writeSync(fd, 'This store was replaced by a restore.'.padEnd(100), 0, 'latin1');
}

function occupied(file: string): Error {
  return fault(
    'CONFLICT',
    { file, problem: `there is a store at ${file}` },
    { hint: 'Say --force to replace it: what happened in it since the backup is lost then.' },
  );
}
