import { grantText, type SettingRow, settingOf } from '../../../rows/setting-rows.ts';
import type { WorkerSetting, WorkerSettingRecord } from '../../../store.ts';
import { allTags, changed, UNSET } from '../../../worker-settings.ts';
import type { Prepared } from '../../file/connection.ts';
import type { Transaction } from '../../file/transaction.ts';

export function findSetting(sql: Prepared, name: string): Omit<WorkerSettingRecord, 'name'> {
  const row = sql.get('settingGet').get(name) as SettingRow | undefined;
  return row === undefined ? UNSET : settingOf(row);
}

/** Changes the setting of a name and all live workers of that name. */
export function setWorker(tx: Transaction, change: WorkerSetting): void {
  const { name, enabled, priority, tags, grant } = changed(findSetting(tx.sql, change.name), change);
  tx.sql.get('settingPut').run(name, enabled ? 1 : 0, priority ?? null, JSON.stringify(tags), grantText(grant));
  const living = tx.sql.get('workersNamed').all(name) as unknown as { id: number; own_tags: string | null }[];
  for (const { id, own_tags: own } of living) {
    const all = allTags(own === null ? [] : (JSON.parse(own) as string[]), tags);
    tx.sql.get('workerChange').run(enabled ? 1 : 0, priority ?? null, JSON.stringify(all), id);
  }
}

export function listSettings(sql: Prepared): readonly WorkerSettingRecord[] {
  const rows = sql.get('settingList').all() as unknown as (SettingRow & { name: string })[];
  return rows.map((row) => ({ name: row.name, ...settingOf(row) }));
}
