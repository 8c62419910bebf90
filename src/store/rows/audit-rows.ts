import { AUDIT_FACES, AUDIT_OUTCOMES, type AuditFace, type AuditOutcome } from '../../core/audit/entry.ts';
import type { AuditEntry, AuditQuery, NewAuditEntry } from '../store.ts';

export interface AuditRow {
  readonly id: number;
  readonly at: number;
  readonly ended_at: number | null;
  readonly actor: string;
  readonly role: string;
  readonly token: number | null;
  readonly said: string | null;
  readonly action: string;
  readonly target: string;
  readonly face: number;
  readonly address: string | null;
  readonly request: string | null;
  readonly outcome: number;
  readonly status: number | null;
  readonly code: string | null;
  readonly was: string | null;
  readonly became: string | null;
  readonly times: number;
}

export const AUDIT_COLUMNS =
  'id, at, ended_at, actor, role, token, said, action, target, face, address, request, outcome, status, code, was, became, times';

export const auditOutcomeCode = (outcome: AuditOutcome): number => AUDIT_OUTCOMES.indexOf(outcome);

/** The values of a new entry, from `actor` on. */
export function auditValues(entry: NewAuditEntry): readonly (string | number | null)[] {
  const { actor, role, token, by, action, target, face, address, request, outcome } = entry;
  const { status, code, before, after, times = 1 } = entry;
  const who = [actor, role, token ?? null, by ?? null];
  const what = [action, target, AUDIT_FACES.indexOf(face), address ?? null, request ?? null];
  const how = [auditOutcomeCode(outcome), status ?? null, code ?? null];
  return [...who, ...what, ...how, before ?? null, after ?? null, times];
}

export function auditEntryOf(row: AuditRow): AuditEntry {
  const { id, at, actor, role, action, target, times } = row;
  return {
    id,
    at,
    endedAt: row.ended_at ?? undefined,
    actor,
    role,
    token: row.token ?? undefined,
    by: row.said ?? undefined,
    action,
    target,
    face: AUDIT_FACES[row.face] as AuditFace,
    address: row.address ?? undefined,
    request: row.request ?? undefined,
    outcome: AUDIT_OUTCOMES[row.outcome] as AuditOutcome,
    status: row.status ?? undefined,
    code: row.code ?? undefined,
    before: row.was ?? undefined,
    after: row.became ?? undefined,
    times,
  };
}

/** By what a page is found: each has an index. The rest is filtered. */
export type AuditPath = 'auditPage' | 'auditOfActor' | 'auditOfAction' | 'auditOfTarget';

export function auditPathOf({ actor, action, target }: AuditQuery): AuditPath {
  if (actor !== undefined) return 'auditOfActor';
  if (target !== undefined) return 'auditOfTarget';
  return action === undefined ? 'auditPage' : 'auditOfAction';
}

/** In the order of the statements: before, since, until, actor, action, target, face, outcome, limit. */
export function auditFilters(query: AuditQuery): readonly (string | number | null)[] {
  const { before = Number.MAX_SAFE_INTEGER, since, until, actor, action, target, face, outcome, limit } = query;
  const when = [before, since ?? null, until ?? null];
  const what = [actor ?? null, action ?? null, target ?? null];
  const way = face === undefined ? null : AUDIT_FACES.indexOf(face);
  return [...when, ...what, way, outcome === undefined ? null : auditOutcomeCode(outcome), limit];
}
