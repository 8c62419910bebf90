import { accessSync, constants } from 'node:fs';
import { dirname } from 'node:path';
import { EngineError, fault } from '../../../core/errors.ts';

const BUSY = 5;
const LOCKED = 6;
const READONLY = 8;
const IOERR = 10;
const CORRUPT = 11;
const FULL = 13;
const CANTOPEN = 14;
const NOTADB = 26;
/** The index of the WAL could not grow: an I/O error code of its own. */
const IOERR_SHMSIZE = 4874;

/** The names in better-sqlite3, whose handles a caller may bring. */
const NAMES: Readonly<Record<string, number>> = { BUSY, LOCKED, READONLY, IOERR, CORRUPT, FULL, CANTOPEN, NOTADB };

/**
 * The primary result code. Extended codes have it in their low byte (517 BUSY_SNAPSHOT), extended names at their
 * beginning (SQLITE_BUSY_SNAPSHOT).
 */
function primaryCode(error: unknown): number {
  const { errcode, code } = (error ?? {}) as { readonly errcode?: unknown; readonly code?: unknown };
  if (errcode === IOERR_SHMSIZE || code === 'SQLITE_IOERR_SHMSIZE') return FULL;
  if (typeof errcode === 'number') return errcode % 256;
  // The handle is closed, because a new one could not be opened in its place.
  if (code === 'ERR_INVALID_STATE') return CANTOPEN;
  const name = typeof code === 'string' ? /^SQLITE_([A-Z]+)/.exec(code)?.[1] : undefined;
  return name === undefined ? 0 : (NAMES[name] ?? 0);
}

export function isFull(error: unknown): boolean {
  return primaryCode(error) === FULL;
}

export function isReadonly(error: unknown): boolean {
  return primaryCode(error) === READONLY;
}

/** Another process is writing: try again. `memdb` answers LOCKED where files answer BUSY. */
export function isBusy(error: unknown): boolean {
  const code = primaryCode(error);
  return code === BUSY || code === LOCKED;
}

/** The connection itself may be broken, and a new one may work (a mount that became writable again). */
export function wantsReopen(error: unknown): boolean {
  const code = primaryCode(error);
  return code === READONLY || code === IOERR || code === CANTOPEN;
}

/** The one place where SQLite's codes become ours; nothing above sees a driver's error. */
export function translate(error: unknown, file: string): EngineError {
  if (error instanceof EngineError) return error;
  const details = { file, sqlite: error instanceof Error ? error.message : String(error) };
  switch (primaryCode(error)) {
    case BUSY:
    case LOCKED:
      return fault('STORE_BUSY', details, { cause: error });
    case FULL:
      return fault('STORE_FULL', details, { cause: error });
    case READONLY:
      return fault('STORE_READONLY', details, { cause: error });
    case IOERR:
    case CANTOPEN:
      if (isUnwritable(dirname(file))) return fault('STORE_READONLY', details, { cause: error });
      return fault('STORE_UNAVAILABLE', { ...details, problem: details.sqlite }, { cause: error });
    case CORRUPT:
    case NOTADB:
      return fault('STORE_CORRUPT', { ...details, problem: details.sqlite }, { cause: error });
    default:
      return fault('INTERNAL', { ...details, problem: details.sqlite }, { cause: error });
  }
}

/** A WAL cannot be opened where its index cannot be written. SQLite then says only that it could not open the file. */
function isUnwritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return false;
  } catch (error) {
    return ['EROFS', 'EACCES', 'EPERM'].includes((error as { code?: string }).code ?? '');
  }
}
