import { type EngineError, fault } from '../../core/errors.ts';
import type { BrowserSessionRecord, TokenRole } from '../store.ts';

/** Records of browser sessions from rows whose columns have the same names in every store. The hash is never read. */
export interface BrowserSessionRow {
  readonly id: number;
  readonly token: number | null;
  readonly admin: string | null;
  readonly role: string | null;
  readonly name: string | null;
  readonly created_at: number;
  readonly expires_at: number;
}

export function browserSessionOf(row: BrowserSessionRow): BrowserSessionRecord {
  const { id, token, admin, role, name, created_at: createdAt, expires_at: expiresAt } = row;
  const began = token === null ? { admin: admin ?? '' } : { token, role: role as TokenRole, name: name ?? '' };
  return { id, began, createdAt, expiresAt };
}

export function sessionTaken(): EngineError {
  return fault('CONFLICT', { problem: 'there is a session with this hash already' });
}
