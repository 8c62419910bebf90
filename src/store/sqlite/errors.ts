import { EngineError, fault } from '../../core/errors.ts';

const BUSY = 5;
const LOCKED = 6;
const READONLY = 8;
const IOERR = 10;
const CORRUPT = 11;
const FULL = 13;
const CANTOPEN = 14;
const NOTADB = 26;

/** The primary result code; extended codes (517 BUSY_SNAPSHOT) carry it in their low byte. */
function primaryCode(error: unknown): number {
  const errcode = (error as { readonly errcode?: unknown } | undefined)?.errcode;
  return typeof errcode === 'number' ? errcode % 256 : 0;
}

/** Somebody else is writing: try again. `memdb` answers LOCKED where files answer BUSY. */
export function isBusy(error: unknown): boolean {
  const code = primaryCode(error);
  return code === BUSY || code === LOCKED;
}

/** The connection itself may be at fault, so that a new one could do better (a mount that became writable again). */
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
      return fault('STORE_UNAVAILABLE', details, { cause: error });
    case CORRUPT:
    case NOTADB:
      return fault('STORE_CORRUPT', details, { cause: error });
    default:
      return fault('INTERNAL', details, { cause: error });
  }
}
