import {
  type AuditRow,
  auditEntryOf,
  auditFilters,
  auditOutcomeCode,
  auditPathOf,
  auditValues,
} from '../../../rows/audit-rows.ts';
import type { AuditEnd, AuditEntry, AuditQuery, DutyTerm, NewAuditEntry } from '../../../store.ts';
import type { Session } from '../../connect/database.ts';
import type { FlushId } from '../../push-dedup.ts';
import { once } from '../queue/once.ts';
import { requireDuty } from './duty.ts';

/** In a transaction, as all that write: a repeat after a lost answer adds nothing. */
export function addAuditEntry(session: Session, flushId: FlushId, entry: NewAuditEntry): Promise<number> {
  return once(session, 'audit', flushId, async () => {
    const [row] = await session.all<{ id: number }>('auditAdd', [...auditValues(entry)]);
    return (row as { id: number }).id;
  });
}

export function endAuditEntry(session: Session, flushId: FlushId, end: AuditEnd): Promise<boolean> {
  const { id, outcome, status, code = null, after = null, target = null } = end;
  const values = [auditOutcomeCode(outcome), status, code, after, target, id];
  return once(session, 'audit', flushId, async () => (await session.rows('auditEnd', values)).length > 0);
}

export async function listAuditEntries(session: Session, query: AuditQuery): Promise<readonly AuditEntry[]> {
  const rows = await session.all<AuditRow>(auditPathOf(query), [...auditFilters(query)]);
  return rows.map(auditEntryOf);
}

export async function pruneAuditEntries(
  session: Session,
  { duty, retentionMs, strangers, limit }: PruneAuditQuery,
): Promise<number> {
  await requireDuty(session, duty);
  const old = await session.rows('pruneAudit', [retentionMs, limit]);
  return old.length + (await session.rows('pruneStrangers', [limit, strangers])).length;
}

interface PruneAuditQuery {
  readonly duty: DutyTerm;
  readonly retentionMs: number;
  readonly strangers: number;
  readonly limit: number;
}
