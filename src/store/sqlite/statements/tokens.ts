import { TOKEN_COLUMNS } from '../../rows/token-rows.ts';

/** A token is live at ?1. */
const LIVE = 'revoked_at IS NULL AND used_at IS NULL AND (expires_at IS NULL OR expires_at > ?1)';

export const TOKEN_STATEMENTS = {
  tokenAdd: `INSERT INTO entry_token (kind, role, name, hash, prefix, made_by, created_at, expires_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (hash) DO NOTHING RETURNING ${TOKEN_COLUMNS}`,
  tokenFind: `SELECT ${TOKEN_COLUMNS} FROM entry_token WHERE hash = ?2 AND ${LIVE}`,
  tokenNamed: `SELECT 1 FROM entry_token WHERE name = ?2 AND kind IN (SELECT value FROM json_each(?3)) AND ${LIVE} LIMIT 1`,
  tokenUse: `UPDATE entry_token SET used_at = ?1 WHERE hash = ?2 AND kind = 'code' AND ${LIVE}`,
  // All in one statement: a node with 2,000 connections checks their tokens twice a second.
  tokenValid: `SELECT id, expires_at FROM entry_token
    WHERE id IN (SELECT value FROM json_each(?)) AND revoked_at IS NULL AND used_at IS NULL`,
  tokenUsed: `UPDATE entry_token SET last_used_at = max(coalesce(last_used_at, 0), min(?1, coalesce(revoked_at, ?1)))
    WHERE id IN (SELECT value FROM json_each(?2))`,
  tokenList: `SELECT ${TOKEN_COLUMNS} FROM entry_token ORDER BY id DESC`,
  tokenRevoke: `UPDATE entry_token SET revoked_at = ?1 WHERE id = ?2 AND ${LIVE}`,
  tokenRevokeNamed: `UPDATE entry_token SET revoked_at = ?1 WHERE name = ?2 AND kind IN ('secret', 'code') AND ${LIVE}`,
  tokenRevokeOthers: `UPDATE entry_token SET revoked_at = ?1 WHERE name = ?2 AND kind = ?3 AND id <> ?4 AND ${LIVE}`,
  tokenShortenOthers: `UPDATE entry_token SET expires_at = min(coalesce(expires_at, ?5), ?5)
    WHERE name = ?2 AND kind = ?3 AND id <> ?4 AND ${LIVE}`,
} as const;
