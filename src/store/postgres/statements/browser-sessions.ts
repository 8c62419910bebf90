import type { Fragments } from './fragments.ts';

/** Statements of browser sessions. `expires_at + 0` keeps the planner from the index of their ends, which is for the pruner. */
export function browserSessionStatements({ s, NOW }: Fragments) {
  const liveToken = `t.revoked_at IS NULL AND t.used_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > ${NOW})`;
  return {
    browserSessionAdd: `INSERT INTO ${s}.browser_session (hash, token, admin, created_at, expires_at)
      SELECT $1, $2::bigint, $3::text, ${NOW}, ${NOW} + $4::bigint
      WHERE $2::bigint IS NULL OR EXISTS (SELECT FROM ${s}.entry_token t WHERE t.id = $2 AND ${liveToken})
      ON CONFLICT (hash) DO NOTHING RETURNING id`,
    browserSessionTaken: `SELECT id FROM ${s}.browser_session WHERE hash = $1`,
    // A login is rare and sessions are few.
    browserSessionTrim: `DELETE FROM ${s}.browser_session WHERE id = ANY(ARRAY(SELECT id FROM ${s}.browser_session
      WHERE token IS NOT DISTINCT FROM $1::bigint AND admin IS NOT DISTINCT FROM $2::text ORDER BY id DESC OFFSET $3::int))`,
    browserSessionFind: `SELECT s.id, s.token, s.admin, t.role, t.name, s.created_at, s.expires_at
      FROM ${s}.browser_session s LEFT JOIN ${s}.entry_token t ON t.id = s.token
      WHERE s.hash = $1 AND s.expires_at + 0 > ${NOW} AND (s.token IS NULL OR (t.id IS NOT NULL AND ${liveToken}))`,
    browserSessionAlive: `SELECT id FROM ${s}.browser_session WHERE id = ANY($1::bigint[]) AND expires_at + 0 > ${NOW}`,
    browserSessionEnd: `DELETE FROM ${s}.browser_session WHERE hash = $1 RETURNING id`,
    pruneBrowserSessions: `DELETE FROM ${s}.browser_session WHERE id = ANY(ARRAY(SELECT id FROM ${s}.browser_session
      WHERE expires_at <= ${NOW} LIMIT $1)) RETURNING id`,
  } as const;
}
