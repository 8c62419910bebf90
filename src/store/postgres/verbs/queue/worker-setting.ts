import { grantText, type SettingRow, settingOf } from '../../../rows/setting-rows.ts';
import type { WorkerSetting, WorkerSettingRecord } from '../../../store.ts';
import { allTags, changed, UNSET } from '../../../worker-settings.ts';
import { numbers, texts } from '../../arrays.ts';
import { lockChannels } from '../../connect/channel-locks.ts';
import type { Session } from '../../connect/database.ts';

/** Serializes registering, changing and forgetting a worker of one name. */
export function lockName(session: Session, name: string): Promise<void> {
  return lockChannels(session, [`worker:${name}`]);
}

export async function findSetting(session: Session, name: string): Promise<Omit<WorkerSettingRecord, 'name'>> {
  const [known] = await session.all<SettingRow>('settingGet', [name]);
  return known === undefined ? UNSET : settingOf(known);
}

/** Changes the setting of a name and all live workers of that name. In a transaction. */
export async function setWorker(session: Session, change: WorkerSetting): Promise<void> {
  await lockName(session, change.name);
  const [row] = await session.all<SettingRow>('settingTake', [change.name]);
  const { name, enabled, priority, tags, grant } = changed(settingOf(row as SettingRow), change);
  await session.rows('settingPut', [name, enabled, priority ?? null, JSON.stringify(tags), grantText(grant)]);
  const living = await session.all<{ id: number; own_tags: string | null }>('workersNamed', [name]);
  const all = living.map(({ own_tags: own }) => allTags(own === null ? [] : (JSON.parse(own) as string[]), tags));
  const ids = numbers(living.map(({ id }) => id));
  await session.rows('workerChange', [ids, enabled, priority ?? null, texts(all.map((one) => JSON.stringify(one)))]);
}

export async function listSettings(session: Session): Promise<readonly WorkerSettingRecord[]> {
  const rows = await session.all<SettingRow & { readonly name: string }>('settingList', []);
  return rows.map((row) => ({ name: row.name, ...settingOf(row) }));
}
