import { isEngineError } from '../../core/errors.ts';
import { joinPermissions, type Permissions } from '../../core/placement/permissions.ts';
import type { RequestOf } from '../../protocol/paths.ts';
import type { TagAnswer } from '../operations/workers.ts';
import type { Caller } from '../operator.ts';
import type { WorkerSettingView } from '../views.ts';

export { PERMISSION_KINDS, type Permissions } from '../../core/placement/permissions.ts';
export { DEFAULT_MAX_SLOTS } from '../../core/placement/worker-grant.ts';

/** The settings of these names. */
export function settingsOf(caller: Caller, names: readonly string[]): Promise<readonly WorkerSettingView[]> {
  return Promise.all([...new Set(names)].map(async (name) => (await carried(caller, name)).setting));
}

export async function setWorkers(
  caller: Caller,
  names: readonly string[],
  body: RequestOf<'editWorker'>,
): Promise<readonly WorkerSettingView[]> {
  const answers: WorkerSettingView[] = [];
  for (const name of new Set(names)) answers.push(await caller.call('editWorker', { params: { name }, body }));
  return answers;
}

export async function tagWorker(
  caller: Caller,
  name: string,
  { add, remove }: { readonly add: readonly string[]; readonly remove: readonly string[] },
): Promise<TagAnswer> {
  const setting = await caller.call('editWorker', { params: { name }, body: { addTags: add, removeTags: remove } });
  const { carries } = await carried(caller, name);
  return { ...setting, carries, own: remove.filter((tag) => carries.includes(tag)) };
}

/** What a name may run. A field that is not given stays as it is; null takes its bound away. */
export type GrantEdit = Pick<RequestOf<'editWorker'>, 'handlers' | 'queues' | 'slots' | 'ownCredentials'>;

/** Adds permissions to those of a name, or puts them in their place. */
export async function permitWorker(
  caller: Caller,
  name: string,
  permissions: Permissions,
  { replace }: { readonly replace: boolean },
): Promise<WorkerSettingView> {
  const before = replace ? undefined : (await carried(caller, name)).setting.grant?.permissions;
  const all = joinPermissions(before, permissions);
  return caller.call('editWorker', {
    params: { name },
    body: { permissions: Object.keys(all).length === 0 ? null : all },
  });
}

/** The settings of a name, and the tags that its workers carry. A name that nobody knows has the defaults. */
async function carried(
  caller: Caller,
  name: string,
): Promise<{ readonly setting: WorkerSettingView; readonly carries: readonly string[] }> {
  try {
    const { carries, processes: _, ...setting } = await caller.call('getWorker', { params: { name } });
    return { setting, carries };
  } catch (error) {
    if (!isEngineError(error, 'NOT_FOUND')) throw error;
    return { setting: { name, enabled: true, tags: [], workers: 0, running: 0 }, carries: [] };
  }
}
