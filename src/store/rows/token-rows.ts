import { type EngineError, fault } from '../../core/errors.ts';
import type { TokenKind, TokenRecord, TokenRole } from '../store.ts';

/** Records of tokens from rows whose columns have the same names in every store. The hash is never read. */
export const TOKEN_COLUMNS =
  'id, kind, role, name, prefix, made_by, created_at, expires_at, used_at, last_used_at, revoked_at' as const;

export interface TokenRow {
  readonly id: number;
  readonly kind: string;
  readonly role: string;
  readonly name: string;
  readonly prefix: string;
  readonly made_by: string;
  readonly created_at: number;
  readonly expires_at: number | null;
  readonly used_at: number | null;
  readonly last_used_at: number | null;
  readonly revoked_at: number | null;
}

export function tokenOf(row: TokenRow): TokenRecord {
  return {
    id: row.id,
    kind: row.kind as TokenKind,
    role: row.role as TokenRole,
    name: row.name,
    prefix: row.prefix,
    by: row.made_by,
    createdAt: row.created_at,
    expiresAt: row.expires_at ?? undefined,
    usedAt: row.used_at ?? undefined,
    lastUsedAt: row.last_used_at ?? undefined,
    revokedAt: row.revoked_at ?? undefined,
  };
}

export function nameTaken({ name }: Pick<TokenRecord, 'name'>): EngineError {
  return fault('CONFLICT', { problem: `there is a token named ${name} already` });
}

export function tokenTaken(): EngineError {
  return fault('CONFLICT', { problem: 'there is a token with this hash already' });
}
