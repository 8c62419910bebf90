/** ?1 is the present, where it is needed. */
const LIVE_TOKEN = 't.revoked_at IS NULL AND t.used_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > ?1)';

export const BROWSER_SESSION_STATEMENTS = {
  browserSessionAdd: `INSERT INTO browser_session (hash, token, admin, created_at, expires_at) SELECT ?2, ?3, ?4, ?1, ?5
    WHERE ?3 IS NULL OR EXISTS (SELECT 1 FROM entry_token t WHERE t.id = ?3 AND ${LIVE_TOKEN}) RETURNING id`,
  browserSessionTaken: 'SELECT 1 FROM browser_session WHERE hash = ?',
  // A login is rare and sessions are few.
  browserSessionTrim: `DELETE FROM browser_session WHERE id IN (SELECT id FROM browser_session
    WHERE token IS ?1 AND admin IS ?2 ORDER BY id DESC LIMIT -1 OFFSET ?3)`,
  browserSessionFind: `SELECT s.id, s.token, s.admin, t.role, t.name, s.created_at, s.expires_at
    FROM browser_session s LEFT JOIN entry_token t ON t.id = s.token
    WHERE s.hash = ?2 AND s.expires_at > ?1 AND (s.token IS NULL OR (t.id IS NOT NULL AND ${LIVE_TOKEN}))`,
  browserSessionKept: `SELECT id, expires_at FROM browser_session WHERE id IN (SELECT value FROM json_each(?))`,
  browserSessionEnd: 'DELETE FROM browser_session WHERE hash = ?',
  pruneBrowserSessions: `DELETE FROM browser_session WHERE id IN (SELECT id FROM browser_session
    WHERE expires_at <= ? LIMIT ?)`,
} as const;
