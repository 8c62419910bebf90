import { fault } from '../../core/errors.ts';
import type { AuditEntry } from '../../engine/records.ts';
import { PER_PAGE } from '../../protocol/defaults.ts';
import type { AuditEntryView } from '../views.ts';
import type { Operations } from './operation.ts';

export const auditOperations = {
  async listAudit({ engine }, { query = {} }) {
    const { cursor, limit = PER_PAGE, ...filters } = query;
    if (cursor !== undefined && !/^\d{1,15}$/.test(cursor)) {
      throw fault('INVALID_INPUT', { field: 'cursor', problem: 'it is not the cursor of a page' });
    }
    const before = cursor === undefined ? undefined : Number(cursor);
    const entries = await engine.audit.list({ ...filters, before, limit });
    const next = entries.length < limit ? undefined : entries.at(-1)?.id;
    return { entries: entries.map(viewOf), ...(next === undefined ? {} : { cursor: String(next) }) };
  },
} satisfies Operations;

function viewOf({ before, after, times, ...entry }: AuditEntry): AuditEntryView {
  const given = Object.entries(entry).filter(([, value]) => value !== undefined);
  return {
    ...(Object.fromEntries(given) as typeof entry),
    ...(before === undefined ? {} : { before: JSON.parse(before) as unknown }),
    ...(after === undefined ? {} : { after: JSON.parse(after) as unknown }),
    ...(times === 1 ? {} : { times }),
  };
}
