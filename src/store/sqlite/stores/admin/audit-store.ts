import type { AuditStore } from '../../../store.ts';
import { addAuditEntry, endAuditEntry, listAuditEntries, pruneAuditEntries } from '../../verbs/admin/audit-entry.ts';
import { requireDuty } from '../../verbs/admin/duty.ts';
import type { StoreParts } from '../store-parts.ts';

export function auditStore({ writer }: StoreParts): AuditStore {
  return {
    auditAdd: (entry) => writer.write('rest', (tx) => addAuditEntry(tx, entry)),
    auditEnd: (end) => writer.write('rest', (tx) => endAuditEntry(tx, end)),
    auditList: (query) => writer.read(({ sql }) => listAuditEntries(sql, query)),
    auditPrune: (query) =>
      writer.write('rest', (tx) => {
        requireDuty(tx, query.duty);
        return pruneAuditEntries(tx, query);
      }),
  };
}
