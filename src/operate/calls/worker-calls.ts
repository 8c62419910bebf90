import { isEngineError } from '../../core/errors.ts';
import type { RequestOf } from '../../protocol/paths.ts';
import type { TagAnswer } from '../operations/workers.ts';
import type { Caller } from '../operator.ts';
import type { WorkerSettingView } from '../views.ts';

/** What is said of these names. */
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

/** Of a name of which nothing was ever said there is nothing to show, and that is what is said of it. */
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
