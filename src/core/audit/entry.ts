/** How an administrative action ended. Stored by position: only append. */
export const AUDIT_OUTCOMES = [
  /** Its end was not written: the process died, or the store failed. It may have taken effect. */
  'began',
  'done',
  'refused',
  /** Our fault: it may have taken effect in part. */
  'failed',
] as const;
export type AuditOutcome = (typeof AUDIT_OUTCOMES)[number];

/** The way that an action came by. Stored by position: only append. */
export const AUDIT_FACES = ['http', 'ui', 'mcp', 'rpc', 'a2a', 'cli-on-the-store', 'library'] as const;
export type AuditFace = (typeof AUDIT_FACES)[number];

/** The role of a caller whom nobody knows. */
export const STRANGER = 'none';

/** The outcome of an action by the status of its answer. */
export function outcomeOf(status: number): AuditOutcome {
  if (status >= 500) return 'failed';
  return status >= 400 ? 'refused' : 'done';
}
