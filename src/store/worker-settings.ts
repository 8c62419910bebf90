import { fault } from '../core/errors.ts';
import type { WorkerGrant } from '../core/placement/worker-grant.ts';
import type { GrantChange, WorkerSetting, WorkerSettingRecord } from './store.ts';

/** The setting of a name that has none. */
export const UNSET: Omit<WorkerSettingRecord, 'name'> = { enabled: true, priority: undefined, tags: [], grant: {} };

/** A setting after a change. Fields that the change does not name stay as they are. */
export function changed(before: Omit<WorkerSettingRecord, 'name'>, change: WorkerSetting): WorkerSettingRecord {
  const { tags = before.tags, addTags = [], removeTags = [] } = change;
  return {
    name: change.name,
    enabled: change.enabled ?? before.enabled,
    priority: change.priority === undefined ? before.priority : (change.priority ?? undefined),
    tags: allTags(tags, addTags).filter((tag) => !removeTags.includes(tag)),
    grant: changedGrant(before.grant, change.grant),
  };
}

function changedGrant(before: WorkerGrant, change: GrantChange = {}): WorkerGrant {
  const { queues = before.queues, slots = before.slots, permissions = before.permissions } = change;
  const { ownCredentials = before.ownCredentials } = change;
  return {
    ...changedHandlers(before, change),
    ...(isSet(queues) ? { queues } : {}),
    ...(isSet(slots) ? { slots } : {}),
    ...(isSet(permissions) ? { permissions } : {}),
    ...(ownCredentials === true ? { ownCredentials } : {}),
  };
}

function changedHandlers(before: WorkerGrant, { handlers, firstHandlers }: GrantChange): WorkerGrant {
  if (handlers === null) return { anyHandler: true };
  if (handlers !== undefined) return { handlers };
  if (before.handlers !== undefined) return { handlers: before.handlers };
  if (before.anyHandler) return { anyHandler: true };
  return firstHandlers === undefined ? {} : { handlers: firstHandlers };
}

function isSet<T>(value: T | null | undefined): value is T {
  return value !== null && value !== undefined;
}

/** The tags of a worker: its own, then those of its setting, then the labels of the credentials that it holds. */
export function allTags(
  own: readonly string[],
  given: readonly string[],
  labels: readonly string[] = [],
): readonly string[] {
  return [...new Set([...own, ...given, ...labels])];
}

/** A worker with another's incarnation would take over its leases. */
export function takenIncarnation(name: string): Error {
  return fault(
    'CONFLICT',
    { problem: `the incarnation that ${name} registers belongs to another worker` },
    {
      hint: 'An incarnation is random and new with each start of a process.',
    },
  );
}
