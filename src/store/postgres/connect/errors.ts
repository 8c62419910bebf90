import { EngineError, fault } from '../../../core/errors.ts';

/** What to do about an error of the driver or the server. */
export type Verdict =
  /** The connection and the answer are lost. The statement may or may not have taken effect. */
  | 'lost'
  /** The server rolled it back because of another transaction. Trying again may do. */
  | 'again'
  /** The server has no free memory or connection now. */
  | 'crowded'
  /** A migration changed a table under a prepared statement. A new session prepares it again. */
  | 'stale'
  /** Named statements do not reach the session that made them: there is a pooler in between. */
  | 'pooled'
  | 'final';

interface ServerError {
  readonly code?: unknown;
  readonly message?: unknown;
}

const AGAIN: ReadonlySet<string> = new Set(['40001', '40P01', '55P03', '55006']);
/** Shut down, crashed, starting, and the states of a connection. */
const LOST: ReadonlySet<string> = new Set(['57P01', '57P02', '57P03', '57P05', '25P03', '25P04']);
const CROWDED: ReadonlySet<string> = new Set(['53000', '53200', '53300', '53400']);
const POOLED: ReadonlySet<string> = new Set(['26000', '42P05']);
const SOCKET: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOENT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'ECONNABORTED',
]);
const TERMINATED =
  /^(Connection terminated|Client (has encountered a connection error|was closed)|timeout expired|Query read timeout)/;

/** The id of the flush is taken: an earlier try has come through, and the next read finds what it made. */
export function isSentBefore(error: unknown): boolean {
  const { code, constraint } = (error ?? {}) as { readonly code?: unknown; readonly constraint?: unknown };
  return code === '23505' && constraint === 'flight_pkey';
}

export function judge(error: unknown): Verdict {
  if (isSentBefore(error)) return 'again';
  const { code, message } = (error ?? {}) as ServerError;
  const text = typeof code === 'string' ? code : '';
  if (AGAIN.has(text)) return 'again';
  if (CROWDED.has(text)) return 'crowded';
  if (POOLED.has(text)) return 'pooled';
  if (text === '0A000' && String(message).startsWith('cached plan must not change')) return 'stale';
  if (LOST.has(text) || text.startsWith('08') || SOCKET.has(text)) return 'lost';
  return typeof message === 'string' && TERMINATED.test(message) ? 'lost' : 'final';
}

/** The one place where Postgres' codes become ours; nothing above sees a driver's error. */
export function translate(error: unknown, server: string): EngineError {
  if (error instanceof EngineError) return error;
  const { code, message } = (error ?? {}) as ServerError;
  const problem = typeof message === 'string' ? message : String(error);
  const details = { server, problem, ...(typeof code === 'string' ? { sqlstate: code } : {}) };
  const made = { cause: error };
  if (problem.includes('unsupported startup parameter')) {
    const hint = 'A pooler is in between: add pooler=transaction to the URL of the store, and take options out of it.';
    return fault('STORE_UNAVAILABLE', details, { ...made, hint });
  }
  switch (judge(error)) {
    case 'lost':
      return fault('STORE_UNAVAILABLE', details, made);
    case 'again':
    case 'crowded':
      return fault('STORE_BUSY', details, made);
    case 'pooled':
    case 'stale':
    case 'final':
      break;
  }
  const state = typeof code === 'string' ? code : '';
  if (state === '25006') return fault('STORE_READONLY', details, made);
  if (state === '53100') return fault('STORE_FULL', details, made);
  if (state === '57014') return fault('STORE_BUSY', details, made);
  if (state === 'XX001' || state === 'XX002') return fault('STORE_CORRUPT', details, made);
  if (state.startsWith('28') || state === '3D000' || state === '42501') {
    const hint = 'Check the user, the password, the database and its rights in the address of the store.';
    return fault('STORE_UNAVAILABLE', details, { ...made, hint });
  }
  return fault('INTERNAL', details, made);
}
