import {
  type AuditRow,
  auditEntryOf,
  auditFilters,
  auditOutcomeCode,
  auditPathOf,
  auditValues,
} from '../../../rows/audit-rows.ts';
import type { AuditEnd, AuditEntry, AuditQuery, NewAuditEntry } from '../../../store.ts';
import type { Prepared } from '../../file/connection.ts';
import type { Transaction } from '../../file/transaction.ts';

export function addAuditEntry({ sql, now }: Transaction, entry: NewAuditEntry): number {
  return (sql.get('auditAdd').get(now, ...auditValues(entry)) as { id: number }).id;
}

export function endAuditEntry({ sql, now }: Transaction, end: AuditEnd): boolean {
  const { id, outcome, status, code = null, after = null, target = null } = end;
  return sql.get('auditEnd').run(now, auditOutcomeCode(outcome), status, code, after, target, id).changes > 0;
}

export function listAuditEntries(sql: Prepared, query: AuditQuery): readonly AuditEntry[] {
  const rows = sql.get(auditPathOf(query)).all(...auditFilters(query)) as unknown as AuditRow[];
  return rows.map(auditEntryOf);
}

export function pruneAuditEntries(
  { sql, now }: Transaction,
  {
    retentionMs,
    strangers,
    limit,
  }: { readonly retentionMs: number; readonly strangers: number; readonly limit: number },
): number {
  const old = Number(sql.get('pruneAudit').run(now - retentionMs, limit).changes);
  return old + Number(sql.get('pruneStrangers').run(limit, strangers).changes);
}
