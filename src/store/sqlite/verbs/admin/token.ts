import { nameTaken, type TokenRow, tokenOf, tokenTaken } from '../../../rows/token-rows.ts';
import type { Rotation, TokenAdding, TokenExchange, TokenRecord } from '../../../store.ts';
import type { Prepared } from '../../file/connection.ts';
import type { Transaction } from '../../file/transaction.ts';
import { setNamed } from './credential.ts';

export function addToken(tx: Transaction, { token, replaces, unless = [], setting }: TokenAdding): TokenRecord {
  const { kind, role, name, hash, prefix, by, ttlMs } = token;
  if (tx.sql.get('tokenNamed').get(tx.now, name, JSON.stringify(unless)) !== undefined) throw nameTaken(token);
  if (setting !== undefined) setNamed(tx, { name, ...setting });
  const expiresAt = ttlMs === undefined ? null : tx.now + ttlMs;
  const values = [kind, role, name, hash, prefix, by, tx.now, expiresAt];
  const row = tx.sql.get('tokenAdd').get(...values) as TokenRow | undefined;
  if (row === undefined) throw tokenTaken();
  if (replaces !== undefined) endOthers(tx, row, replaces);
  return tokenOf(row);
}

/** Immediate ends are revocations: a clock that is set back would undo an expiry. */
function endOthers(tx: Transaction, { id, kind, name }: TokenRow, { graceMs }: Rotation): void {
  if (graceMs <= 0) tx.sql.get('tokenRevokeOthers').run(tx.now, name, kind, id);
  else tx.sql.get('tokenShortenOthers').run(tx.now, name, kind, id, tx.now + graceMs);
}

export function findToken(sql: Prepared, hash: string, now: number): TokenRecord | undefined {
  const row = sql.get('tokenFind').get(now, hash) as TokenRow | undefined;
  return row && tokenOf(row);
}

export function exchangeToken(tx: Transaction, { hash, token, replaces }: TokenExchange): TokenRecord | undefined {
  if (tx.sql.get('tokenUse').run(tx.now, hash).changes === 0) return undefined;
  return addToken(tx, { token, replaces });
}

/** Tokens that are neither revoked nor used up, with their expiry. `ids` is a list in JSON. */
export function validTokens(sql: Prepared, ids: string): ReadonlyMap<number, number | null> {
  const rows = sql.get('tokenValid').all(ids) as unknown as Pick<TokenRow, 'id' | 'expires_at'>[];
  return new Map(rows.map(({ id, expires_at: at }) => [id, at]));
}

export function areTokensAlive(valid: ReadonlyMap<number, number | null>, ids: readonly number[], now: number) {
  return ids.map((id) => {
    const expiresAt = valid.get(id);
    return expiresAt !== undefined && (expiresAt === null || expiresAt > now);
  });
}

export function isTokenAlive(sql: Prepared, id: number, now: number): boolean {
  return areTokensAlive(validTokens(sql, `[${id}]`), [id], now)[0] === true;
}

export function noteTokensUsed(tx: Transaction, ids: readonly number[]): void {
  tx.sql.get('tokenUsed').run(tx.now, JSON.stringify(ids));
}

export function listTokens(sql: Prepared): readonly TokenRecord[] {
  return (sql.get('tokenList').all() as unknown as TokenRow[]).map(tokenOf);
}

export function revokeToken(tx: Transaction, id: number): boolean {
  return tx.sql.get('tokenRevoke').run(tx.now, id).changes > 0;
}

export function revokeTokensNamed(tx: Transaction, name: string): number {
  return Number(tx.sql.get('tokenRevokeNamed').run(tx.now, name).changes);
}
