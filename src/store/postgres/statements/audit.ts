import { AUDIT_COLUMNS } from '../../rows/audit-rows.ts';
import type { Fragments } from './fragments.ts';

/** Statements of the audit. `at + 0` keeps a page from the index of times, which is for the pruner and for the first of a time. */
export function auditStatements({ s, NOW }: Fragments) {
  /** $1 before, $2 since, $3 until, $4 actor, $5 action, $6 target, $7 face, $8 outcome, $9 limit. */
  const page = (path: string): string => `SELECT ${AUDIT_COLUMNS} FROM ${s}.audit_entry WHERE ${path} id < $1::bigint
    AND id >= coalesce((SELECT min(id + 0) FROM ${s}.audit_entry WHERE at >= $2::bigint), CASE WHEN $2::bigint IS NULL THEN 0 ELSE $1::bigint END)
    AND ($2::bigint IS NULL OR at + 0 >= $2::bigint) AND ($3::bigint IS NULL OR at + 0 < $3::bigint)
    AND ($4::text IS NULL OR actor = $4::text) AND ($5::text IS NULL OR action = $5::text) AND ($6::text IS NULL OR target = $6::text)
    AND ($7::int IS NULL OR face = $7::int) AND ($8::int IS NULL OR outcome = $8::int) ORDER BY id DESC LIMIT $9`;
  return {
    auditAdd: `INSERT INTO ${s}.audit_entry (at, actor, role, token, said, action, target, face, address, request, outcome, status, code,
      was, became, times) VALUES (${NOW}, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) RETURNING id`,
    auditEnd: `UPDATE ${s}.audit_entry SET ended_at = ${NOW}, outcome = $1, status = $2, code = $3, became = $4,
      target = coalesce($5::text, target) WHERE id = $6 AND outcome = 0 RETURNING id`,
    auditPage: page(''),
    auditOfActor: page('actor = $4::text AND'),
    auditOfAction: page('action = $5::text AND'),
    auditOfTarget: page('target = $6::text AND'),
    pruneAudit: `DELETE FROM ${s}.audit_entry WHERE id = ANY(ARRAY(SELECT id FROM ${s}.audit_entry
      WHERE at < ${NOW} - $1::bigint ORDER BY at LIMIT $2)) RETURNING id`,
    pruneStrangers: `DELETE FROM ${s}.audit_entry WHERE id = ANY(ARRAY(SELECT id FROM ${s}.audit_entry
      WHERE role = 'none' AND outcome = 2 ORDER BY id DESC LIMIT $1 OFFSET $2)) RETURNING id`,
  } as const;
}
