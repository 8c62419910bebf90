import { parseDuration } from '../../core/duration.ts';
import { fault, isEngineError } from '../../core/errors.ts';
import { makeIdCodec } from '../../core/ids.ts';
import { checkWorkerId } from '../../core/names.ts';
import type { Engine } from '../../engine/engine.ts';
import type { FleetMember, GrantChange, WorkerSettingRecord } from '../../engine/records.ts';
import { Enrolment } from '../calls/enrolment.ts';
import { joinOf } from '../calls/join.ts';
import type { EngineSnapshot } from '../engine-snapshot.ts';
import { refuseCredentials } from '../tags/given-tags.ts';
import { viewWorker, type WorkerSettingView, type WorkerView } from '../views.ts';
import type { Operations } from './operation.ts';

export interface TagAnswer extends WorkerSettingView {
  /** All tags that the workers of this name carry now. */
  readonly carries: readonly string[];
  /** Tags that were to be removed and are still carried: the worker brings them itself. */
  readonly own: readonly string[];
}

export interface WorkerEdit {
  readonly enabled?: boolean;
  /** Null: each worker has its own again. */
  readonly priority?: number | null;
}

/** A new worker, which may run on another host. */
export interface NewWorker {
  /** The tags that it may carry. */
  readonly tags: readonly string[];
  readonly priority?: number | undefined;
  /** What it may run, and what its tasks may do to others. */
  readonly grant: GrantChange;
  /** A code that works once, within ten minutes, instead of the secret itself. */
  readonly code: boolean;
}

export interface Enrolled extends WorkerSettingView {
  readonly secret?: string | undefined;
  readonly code?: string | undefined;
}

/** The settings of workers by name, and the tags that they carry. */
export class WorkerOperator {
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Settings of all names that have some. */
  async settings(): Promise<readonly WorkerSettingView[]> {
    const settings = await this.#engine.store.workerSettings();
    const fleet = settings.length === 0 ? [] : await this.#living();
    const isSet = ({ enabled, priority, tags, grant }: WorkerSettingRecord): boolean =>
      !enabled || priority !== undefined || tags.length > 0 || Object.keys(grant).length > 0;
    return settings.filter(isSet).map((setting) => viewSetting(setting, fleet));
  }

  async set(names: readonly string[], edit: WorkerEdit): Promise<readonly WorkerSettingView[]> {
    for (const name of new Set(names)) await this.#engine.workers.set({ name, ...edit });
    return this.look(names);
  }

  /** Enrols a worker. Its secret, or a code for it, is shown this once. */
  async create(name: string, { tags, priority, grant, code }: NewWorker, by: string): Promise<Enrolled> {
    const enrolment = new Enrolment(this.#engine.store);
    const setting = {
      name,
      priority,
      addTags: tags.length === 0 ? undefined : tags,
      ...(Object.keys(grant).length === 0 ? {} : { grant }),
    };
    const made = await enrolment.create(setting, by, code ? 'code' : 'secret').catch((error: unknown) => {
      if (!isEngineError(error, 'CONFLICT')) throw error;
      const hint = `"leasehold workers rotate ${name}" gives it another secret, "workers remove" forgets it.`;
      throw fault('CONFLICT', { problem: `there is a worker ${name} already` }, { hint });
    });
    this.#engine.workers.refresh();
    return { ...((await this.look([name]))[0] as WorkerSettingView), ...made };
  }

  /** Another secret, shown this once. The old ones are valid for `graceMs` more. */
  async rotate(name: string, graceMs: number, by: string): Promise<{ readonly name: string; readonly secret: string }> {
    const enrolment = new Enrolment(this.#engine.store);
    if (!(await enrolment.knows(name))) throw noWorker(name);
    return { name, secret: await enrolment.secret(name, by, graceMs) };
  }

  /** Ends its secrets and drops the settings of the name. Answers how many secrets were valid. */
  async remove(name: string): Promise<number> {
    const enrolment = new Enrolment(this.#engine.store);
    if (!(await enrolment.knows(name))) throw noWorker(name);
    const secrets = await enrolment.remove(name);
    this.#engine.workers.refresh();
    return secrets;
  }

  /** The settings of a name, the tags of its workers, and whether the name is known at all. */
  async describe(name: string): Promise<{
    readonly setting: WorkerSettingView;
    readonly carries: readonly string[];
    readonly known: boolean;
  }> {
    const [setting] = (await this.look([name])) as [WorkerSettingView];
    const carries = (await this.#living()).filter((member) => member.name === name).flatMap(({ tags }) => tags);
    const known = setting.workers > 0 || (await new Enrolment(this.#engine.store).knows(name));
    return { setting, carries: sorted(carries), known };
  }

  async look(names: readonly string[]): Promise<readonly WorkerSettingView[]> {
    const [settings, fleet] = [await this.#engine.store.workerSettings(), await this.#living()];
    return [...new Set(names)].map((name) => {
      const setting = settings.find((one) => one.name === name);
      return viewSetting(setting ?? { name, enabled: true, priority: undefined, tags: [], grant: {} }, fleet);
    });
  }

  async tag(
    name: string,
    { add, remove }: { readonly add: readonly string[]; readonly remove: readonly string[] },
  ): Promise<TagAnswer> {
    refuseCredentials('tags', add);
    await this.#engine.workers.set({ name, addTags: add, removeTags: remove });
    const fleet = await this.#living();
    const carries = new Set(fleet.filter((member) => member.name === name).flatMap((member) => member.tags));
    return {
      ...((await this.look([name]))[0] as WorkerSettingView),
      carries: sorted(carries),
      own: remove.filter((tag) => carries.has(tag)),
    };
  }

  /** Workers whose heartbeats arrive. A silent worker stays in the fleet until the reaper has seen it, and is left out here before. */
  async #living(): Promise<readonly FleetMember[]> {
    const { now, members } = await this.#engine.store.workerFleet();
    return members.filter(({ seenAt }) => now - seenAt <= this.#engine.workerStaleMs);
  }
}

export const workerOperations = {
  async listWorkers(snapshot) {
    const settings = await new WorkerOperator(snapshot.engine).settings();
    const absent = settings.filter(({ workers }) => workers === 0);
    return { workers: await workersOf(snapshot), absent, settings };
  },

  /** Everything that is known of a worker's name; refused when that is nothing. */
  async getWorker(snapshot, { params }) {
    const name = checkWorkerId('worker name', params.name);
    const described = await new WorkerOperator(snapshot.engine).describe(name);
    const processes = (await workersOf(snapshot)).filter((worker) => worker.name === name);
    if (processes.length === 0 && !described.known) throw noWorker(name);
    return { ...described.setting, carries: described.carries, processes: processes.toReversed() };
  },

  async editWorker({ engine }, { params, body }) {
    const fleet = new WorkerOperator(engine);
    const name = checkWorkerId('worker name', params.name);
    const { handlers, queues, slots, permissions, ownCredentials, ...edit } = body;
    const grant = given({ handlers, queues, slots, permissions, ownCredentials });
    refuseCredentials('tags', edit.addTags);
    await engine.workers.set({ name, ...edit, grant });
    const [setting] = await fleet.look([name]);
    return setting as NonNullable<typeof setting>;
  },

  /** The server replaces `URL` with its own address. */
  async createWorker({ engine }, { body, by = '' }) {
    const { name, tags = [], priority, code = false, handlers, queues, slots, permissions } = body;
    const grant = given({ handlers, queues, slots, permissions });
    refuseCredentials('tags', tags);
    const made = await new WorkerOperator(engine).create(name, { tags, priority, grant, code }, by);
    return { ...made, join: joinOf('URL', made) };
  },

  rotateWorker: ({ engine }, { params, body: { grace = 0 }, by = '' }) =>
    new WorkerOperator(engine).rotate(params.name, parseDuration(grace, 'grace'), by),

  async removeWorker({ engine }, { params }) {
    return { removed: true, secrets: await new WorkerOperator(engine).remove(params.name) };
  },
} satisfies Operations;

async function workersOf(snapshot: EngineSnapshot): Promise<readonly WorkerView[]> {
  const { engine } = snapshot;
  const ids = makeIdCodec(engine.store.clusterKey);
  const records = await snapshot.workers();
  const held = Map.groupBy(await engine.store.leaseList({}), ({ holder }) => holder);
  const calendarOf = await snapshot.calendar();
  const policy = await engine.upgrades.policy();
  const grants = new Map((await engine.store.workerSettings()).map(({ name, grant }) => [name, grant]));
  return records.map((record) =>
    viewWorker(record, {
      grant: grants.get(record.name) ?? {},
      policy,
      id: ids.encode('wrk_', record.worker, record.startedAt ?? 0),
      tasks: (held.get(record.worker) ?? []).map((task) => engine.idOf(task)),
      calendarOf,
    }),
  );
}

function noWorker(name: string): Error {
  const hint = '"leasehold workers list" shows the workers.';
  return fault('NOT_FOUND', { kind: 'worker', id: name }, { hint });
}

/** Without the fields that are undefined. */
function given<T extends object>(fields: T): { readonly [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;
}

function viewSetting(setting: WorkerSettingRecord, fleet: readonly FleetMember[]): WorkerSettingView {
  const { name, enabled, priority, tags, grant } = setting;
  const own = fleet.filter((member) => member.name === name);
  return {
    name,
    enabled,
    ...(priority === undefined ? {} : { priority }),
    tags,
    ...(Object.keys(grant).length === 0 ? {} : { grant }),
    workers: own.length,
    running: own.reduce((sum, { running }) => sum + running, 0),
  };
}

function sorted(texts: Iterable<string>): readonly string[] {
  return [...new Set(texts)].sort();
}
