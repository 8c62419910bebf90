import { AUDIT_COLUMNS } from '../../rows/audit-rows.ts';

/** ?1 before, ?2 since, ?3 until, ?4 actor, ?5 action, ?6 target, ?7 face, ?8 outcome, ?9 limit. Numbers and times grow together, mostly. */
const page = (path: string): string => `SELECT ${AUDIT_COLUMNS} FROM audit_entry WHERE ${path} id < ?1
  AND id >= coalesce((SELECT min(id) FROM audit_entry INDEXED BY audit_entry_at WHERE at >= ?2), CASE WHEN ?2 IS NULL THEN 0 ELSE ?1 END)
  AND (?2 IS NULL OR +at >= ?2) AND (?3 IS NULL OR +at < ?3) AND (?4 IS NULL OR actor = ?4) AND (?5 IS NULL OR action = ?5)
  AND (?6 IS NULL OR target = ?6) AND (?7 IS NULL OR face = ?7) AND (?8 IS NULL OR outcome = ?8) ORDER BY id DESC LIMIT ?9`;

export const AUDIT_STATEMENTS = {
  auditAdd: `INSERT INTO audit_entry (at, actor, role, token, said, action, target, face, address, request, outcome, status, code,
    was, became, times) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`,
  auditEnd: `UPDATE audit_entry SET ended_at = ?, outcome = ?, status = ?, code = ?, became = ?, target = coalesce(?, target)
    WHERE id = ? AND outcome = 0`,
  auditPage: page(''),
  auditOfActor: page('actor = ?4 AND'),
  auditOfAction: page('action = ?5 AND'),
  auditOfTarget: page('target = ?6 AND'),
  pruneAudit: 'DELETE FROM audit_entry WHERE id IN (SELECT id FROM audit_entry WHERE at < ? ORDER BY at LIMIT ?)',
  pruneStrangers: `DELETE FROM audit_entry WHERE id IN (SELECT id FROM audit_entry INDEXED BY audit_entry_stranger
    WHERE role = 'none' AND outcome = 2 ORDER BY id DESC LIMIT ? OFFSET ?)`,
} as const;
