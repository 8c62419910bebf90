import { TOKEN_COLUMNS } from '../../rows/token-rows.ts';
import type { Fragments } from './fragments.ts';

/** A token is live. */
export const liveToken = ({ NOW }: Pick<Fragments, 'NOW'>): string =>
  `revoked_at IS NULL AND used_at IS NULL AND (expires_at IS NULL OR expires_at > ${NOW})`;

/** Statements of tokens. */
export function tokenStatements({ s, NOW }: Fragments) {
  const live = liveToken({ NOW });
  return {
    tokenAdd: `INSERT INTO ${s}.entry_token (kind, role, name, hash, prefix, made_by, created_at, expires_at)
      VALUES ($1, $2, $3, $4, $5, $6, ${NOW}, ${NOW} + $7) ON CONFLICT (hash) DO NOTHING RETURNING ${TOKEN_COLUMNS}`,
    tokenFind: `SELECT ${TOKEN_COLUMNS} FROM ${s}.entry_token WHERE hash = $1 AND ${live}`,
    tokenNamed: `SELECT id FROM ${s}.entry_token WHERE name = $1 AND kind = ANY($2::text[]) AND ${live} LIMIT 1`,
    tokenUse: `UPDATE ${s}.entry_token SET used_at = ${NOW} WHERE hash = $1 AND kind = 'code' AND ${live} RETURNING id`,
    tokenAlive: `SELECT id FROM ${s}.entry_token WHERE id = ANY($1::bigint[]) AND ${live}`,
    tokenUsed: `UPDATE ${s}.entry_token SET last_used_at = greatest(last_used_at, least(${NOW}, revoked_at)) WHERE id = ANY($1::bigint[])`,
    tokenList: `SELECT ${TOKEN_COLUMNS} FROM ${s}.entry_token ORDER BY id DESC`,
    tokenRevoke: `UPDATE ${s}.entry_token SET revoked_at = ${NOW} WHERE id = $1 AND ${live} RETURNING id`,
    tokenRevokeNamed: `UPDATE ${s}.entry_token SET revoked_at = ${NOW}
      WHERE name = $1 AND kind IN ('secret', 'code') AND ${live} RETURNING id`,
    tokenRevokeOthers: `UPDATE ${s}.entry_token SET revoked_at = ${NOW} WHERE name = $1 AND kind = $2 AND id <> $3 AND ${live}`,
    tokenShortenOthers: `UPDATE ${s}.entry_token SET expires_at = least(expires_at, ${NOW} + $4)
      WHERE name = $1 AND kind = $2 AND id <> $3 AND ${live}`,
    pruneTokens: `DELETE FROM ${s}.entry_token WHERE id = ANY(ARRAY(SELECT id FROM ${s}.entry_token
      WHERE coalesce(revoked_at, used_at, expires_at) < $1 LIMIT $2)) RETURNING id`,
  } as const;
}
