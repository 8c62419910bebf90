import type { AuditStore } from '../../../store.ts';
import { addAuditEntry, endAuditEntry, listAuditEntries, pruneAuditEntries } from '../../verbs/admin/audit-entry.ts';
import type { StoreParts } from '../store-parts.ts';

export function auditStore({ calls, dedup }: StoreParts): AuditStore {
  return {
    auditAdd(entry) {
      const flushId = dedup.next();
      return calls.transaction((session) => addAuditEntry(session, flushId, entry));
    },
    auditEnd(end) {
      const flushId = dedup.next();
      return calls.transaction((session) => endAuditEntry(session, flushId, end));
    },
    auditList: (query) => calls.run((session) => listAuditEntries(session, query)),
    auditPrune: (query) => calls.transaction((session) => pruneAuditEntries(session, query)),
  };
}
