import type { CredentialRecord, HoldingRecord } from '../../engine/records.ts';
import type { CredentialView } from '../../protocol/views.ts';

export { SHORTEST_HIDDEN } from '../../core/credential/value.ts';

/** A credential as people see it: there is no value in it. */
export function viewCredential(record: CredentialRecord, holdings: readonly HoldingRecord[]): CredentialView {
  const { name, version, kind, type, level, workers, tags, createdAt, changedAt } = record;
  return {
    name,
    version,
    kind,
    ...(type === undefined ? {} : { type }),
    ...(level === undefined ? {} : { level }),
    workers,
    tags,
    createdAt,
    changedAt,
    holders: holdings.filter(({ credential }) => credential === name).flatMap(viewHolder),
  };
}

/** What a worker says of itself is nothing that it was given. */
function viewHolder(holding: HoldingRecord): CredentialView['holders'] {
  const { worker, status, wanted, acked, level, error, askedAt, changedAt } = holding;
  if (status === 'told') return [];
  const told = {
    ...(acked === undefined ? {} : { acked }),
    ...(level === undefined ? {} : { level }),
    ...(error === undefined ? {} : { error }),
  };
  return [{ worker, status, wanted, ...told, askedAt, changedAt }];
}
