import type { WorkerGrant } from '../../core/placement/worker-grant.ts';
import type { WorkerSettingRecord } from '../store.ts';

export interface SettingRow {
  readonly enabled: number | boolean;
  readonly priority: number | null;
  readonly tags: string;
  readonly grants: string | null;
}

export function settingOf({ enabled, priority, tags, grants }: SettingRow): Omit<WorkerSettingRecord, 'name'> {
  return {
    enabled: Boolean(enabled),
    priority: priority ?? undefined,
    tags: JSON.parse(tags) as string[],
    grant: grants === null ? {} : (JSON.parse(grants) as WorkerGrant),
  };
}

/** The text that is stored; null where nothing was granted by name. */
export function grantText(grant: WorkerGrant): string | null {
  return Object.keys(grant).length === 0 ? null : JSON.stringify(grant);
}
