import type { Client } from '../client/client.ts';
import { isEngineError } from '../core/errors.ts';
import type { TagView, WorkerSettingView } from '../operate/views.ts';
import type { Enrolled, NewWorker, TagAnswer, WorkerEdit } from '../operate/workers.ts';
import type { AnswerOf } from '../protocol/routes.ts';
import type { OperatingFleet } from './operating.ts';

/** What a node says of workers by their names. */
export class RemoteFleet implements OperatingFleet {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  async strays(): Promise<readonly WorkerSettingView[]> {
    return (await this.#client.call('listWorkers')).absent.map(settingOf);
  }

  look(names: readonly string[]): Promise<readonly WorkerSettingView[]> {
    return Promise.all([...new Set(names)].map(async (name) => settingOf(await this.#detail(name))));
  }

  async set(names: readonly string[], edit: WorkerEdit): Promise<readonly WorkerSettingView[]> {
    const answers: WorkerSettingView[] = [];
    for (const name of new Set(names)) {
      answers.push(settingOf(await this.#client.call('editWorker', { params: { name }, body: edit })));
    }
    return answers;
  }

  async create(name: string, { tags, priority, code }: NewWorker, by: string): Promise<Enrolled> {
    const body = { name, tags: [...tags], code, ...(priority === undefined ? {} : { priority }) };
    const made = await this.#client.call('createWorker', { body, by });
    const told = made.code === undefined ? { secret: made.secret as string } : { code: made.code };
    return { ...settingOf(made), ...told };
  }

  async rotate(name: string, graceMs: number, by: string): Promise<{ readonly name: string; readonly secret: string }> {
    return this.#client.call('rotateWorker', { params: { name }, body: { grace: graceMs }, by });
  }

  async remove(name: string): Promise<number> {
    return (await this.#client.call('removeWorker', { params: { name } })).secrets;
  }

  async tag(
    name: string,
    { add, remove }: { readonly add: readonly string[]; readonly remove: readonly string[] },
  ): Promise<TagAnswer> {
    const body = { addTags: [...add], removeTags: [...remove] };
    const setting = settingOf(await this.#client.call('editWorker', { params: { name }, body }));
    const { carries } = await this.#detail(name);
    return { ...setting, carries, own: remove.filter((tag) => carries.includes(tag)) };
  }

  async tags(): Promise<readonly TagView[]> {
    return (await this.#client.call('listTags')).tags;
  }

  /** Of a name of which nothing was ever said there is nothing to show, and that is what is said of it. */
  async #detail(name: string): Promise<AnswerOf<'editWorker'> & { readonly carries: readonly string[] }> {
    try {
      return await this.#client.call('getWorker', { params: { name } });
    } catch (error) {
      if (!isEngineError(error, 'NOT_FOUND')) throw error;
      return { name, enabled: true, tags: [], workers: 0, running: 0, carries: [] };
    }
  }
}

/** Without what a node shows besides. */
function settingOf({ name, enabled, priority, tags, workers, running }: AnswerOf<'editWorker'>): WorkerSettingView {
  return { name, enabled, ...(priority === undefined ? {} : { priority }), tags, workers, running };
}
