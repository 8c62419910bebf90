import { z } from 'zod';
import { type Route, route } from '../route.ts';
import { AuditEntry, AuditFilter } from '../shapes/audit.ts';
import { API } from './address.ts';

/** Who did what. */
export const AUDIT_ROUTES = {
  listAudit: route({
    method: 'GET',
    path: `${API}/audit`,
    access: 'admin',
    does: 'Who did what: administrative actions, the newest first',
    query: AuditFilter,
    answer: z.object({ entries: z.array(AuditEntry).readonly(), cursor: z.string().optional() }),
  }),
} as const satisfies Record<string, Route>;
