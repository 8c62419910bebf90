/** How an entry of the audit is told. */

import type { AuditEntry } from '../../api.ts';

/** `purgeQueue` → "purge queue". */
export function actionWords(action: string): string {
  return action.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

export function Outcome({ of: { outcome, code, times } }: { readonly of: AuditEntry }) {
  const more = [code, times !== undefined && `× ${times}`].filter(Boolean).join(' ');
  return (
    <span className={outcome === 'done' ? '' : outcome === 'began' ? 'strong' : 'bad strong'}>
      {outcome === 'began' ? 'no end written' : outcome} {more !== '' && <span className="quiet">{more}</span>}
    </span>
  );
}

export function Who({ of: { actor, role, by } }: { readonly of: AuditEntry }) {
  return (
    <span>
      <b>{actor}</b> <span className="quiet">{by === undefined ? role : `${role}, says ${by}`}</span>
    </span>
  );
}
