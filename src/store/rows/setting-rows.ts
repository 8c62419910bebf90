import type { WorkerSettingRecord } from '../store.ts';

export interface SettingRow {
  readonly enabled: number | boolean;
  readonly priority: number | null;
  readonly tags: string;
}

export function settingOf({ enabled, priority, tags }: SettingRow): Omit<WorkerSettingRecord, 'name'> {
  return { enabled: Boolean(enabled), priority: priority ?? undefined, tags: JSON.parse(tags) as string[] };
}
