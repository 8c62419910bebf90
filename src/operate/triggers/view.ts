import type { Fired, StoredTrigger, TriggerFiring } from '../../engine/triggers/triggers.ts';
import type { FiredView, FiringView, TriggerView } from '../views.ts';
import { placeOfSecret } from './hook-secrets.ts';

export function viewTrigger({ trigger, enabled, fired, createdAt, changedAt, last }: StoredTrigger): TriggerView {
  const { secret, run, ...rest } = trigger;
  const place = placeOfSecret(secret);
  return {
    ...(rest as Omit<TriggerView, 'enabled' | 'fired' | 'createdAt' | 'changedAt'>),
    ...(run === undefined ? {} : { run }),
    ...(place === undefined ? {} : { secret: place }),
    ...(secret !== undefined && 'env' in secret ? { variable: secret.env } : {}),
    ...(trigger.kind === 'webhook' ? { path: `/api/v1/hooks/${trigger.name}` } : {}),
    enabled,
    fired,
    createdAt,
    changedAt,
    ...(last === undefined ? {} : { last: viewFiring(last) }),
  };
}

export function viewFiring({ n, at, outcome, about, detail, task }: TriggerFiring): FiringView {
  return {
    n,
    at,
    outcome,
    about,
    ...(detail === undefined ? {} : { detail }),
    ...(task === undefined ? {} : { task: task.id, state: task.state }),
  };
}

export function viewFired({ fresh, n, outcome, detail, id }: Fired): FiredView {
  return { fresh, n, outcome, ...(detail === undefined ? {} : { detail }), ...(id === undefined ? {} : { id }) };
}
