import { isEngineError } from '../../core/errors.ts';
import type { RequestOf } from '../../protocol/paths.ts';
import type { TagAnswer } from '../operations/workers.ts';
import type { Caller } from '../operator.ts';
import type { WorkerSettingView } from '../views.ts';

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
