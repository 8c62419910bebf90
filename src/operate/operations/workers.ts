import { parseDuration } from '../../core/duration.ts';
import { fault, isEngineError } from '../../core/errors.ts';
import { makeIdCodec } from '../../core/ids.ts';
import { checkWorkerId } from '../../core/names.ts';
import { parseTest, passes, readTag } from '../../core/placement/tag.ts';
import type { Engine } from '../../engine/engine.ts';
import type { FleetMember, GrantChange, Lane, WorkerSettingRecord } from '../../engine/records.ts';
import { Enrolment } from '../calls/enrolment.ts';
import { joinOf } from '../calls/join.ts';
import type { EngineSnapshot } from '../engine-snapshot.ts';
import { type TagView, viewWorker, type WorkerSettingView, type WorkerView } from '../views.ts';
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

const PAGE = 1000;

/** The settings of workers by name, and the tags that they carry. */
export class WorkerOperator {
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Settings of names that no worker has now. */
  async unusedSettings(): Promise<readonly WorkerSettingView[]> {
    const settings = await this.#engine.store.workerSettings();
    const fleet = settings.length === 0 ? [] : await this.#living();
    const isSet = ({ enabled, priority, tags, grant }: WorkerSettingRecord): boolean =>
      !enabled || priority !== undefined || tags.length > 0 || Object.keys(grant).length > 0;
    return settings
      .map((setting) => viewSetting(setting, fleet))
      .filter((one, i) => one.workers === 0 && isSet(settings[i] as WorkerSettingRecord));
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
    await this.#engine.workers.set({ name, addTags: add, removeTags: remove });
    const fleet = await this.#living();
    const carries = new Set(fleet.filter((member) => member.name === name).flatMap((member) => member.tags));
    return {
      ...((await this.look([name]))[0] as WorkerSettingView),
      carries: sorted(carries),
      own: remove.filter((tag) => carries.has(tag)),
    };
  }

  /** Tags that workers carry, by name; then the tests of ready tasks that no worker passes. */
  async tags(): Promise<readonly TagView[]> {
    const fleet = await this.#living();
    const wanted = await this.#wanted();
    const carriers = new Map<string, Set<string>>();
    for (const { name, tags } of fleet) for (const tag of tags) of(carriers, tag).add(name);
    const wantedBy = (tag: string): readonly string[] => {
      const asking = [...wanted].filter(([test]) => passes(parseTest('tag', test), [readTag(tag)]));
      return sorted(asking.flatMap(([, queues]) => [...queues]));
    };
    const carried = sorted(carriers.keys()).map((tag) => {
      const names = sorted(of(carriers, tag));
      const count = fleet.filter(({ tags }) => tags.includes(tag)).length;
      return { tag, workers: count, names, wantedBy: wantedBy(tag) };
    });
    const missing = sorted(wanted.keys())
      .filter((test) => !fleet.some(({ tags }) => passes(parseTest('tag', test), tags.map(readTag))))
      .map((tag) => ({ tag, workers: 0, names: [], wantedBy: sorted(of(wanted, tag)) }));
    return [...carried, ...missing];
  }

  /** Test → queues with ready tasks that require it. */
  async #wanted(): Promise<Map<string, Set<string>>> {
    const wanted = new Map<string, Set<string>>();
    for (let after = 0; ; ) {
      const ids = (await this.#engine.store.laneScan({ after, limit: PAGE })).map(({ id }) => id);
      for (const lane of await this.#engine.store.laneGet({ lanes: ids }))
        for (const test of lane?.rules?.placement.requires ?? []) of(wanted, test).add((lane as Lane).queue);
      after = ids.at(-1) ?? after;
      if (ids.length < PAGE) return wanted;
    }
  }

  /** Workers whose heartbeats arrive. A silent worker stays in the fleet until the reaper has seen it, and is left out here before. */
  async #living(): Promise<readonly FleetMember[]> {
    const { now, members } = await this.#engine.store.workerFleet();
    return members.filter(({ seenAt }) => now - seenAt <= this.#engine.workerStaleMs);
  }
}

export const workerOperations = {
  async listWorkers(snapshot) {
    return { workers: await workersOf(snapshot), absent: await new WorkerOperator(snapshot.engine).unusedSettings() };
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
    await engine.workers.set({ name, ...edit, grant });
    const [setting] = await fleet.look([name]);
    return setting as NonNullable<typeof setting>;
  },

  /** The server replaces `URL` with its own address. */
  async createWorker({ engine }, { body, by = '' }) {
    const { name, tags = [], priority, code = false, handlers, queues, slots, permissions } = body;
    const grant = given({ handlers, queues, slots, permissions });
    const made = await new WorkerOperator(engine).create(name, { tags, priority, grant, code }, by);
    return { ...made, join: joinOf('URL', made) };
  },

  rotateWorker: ({ engine }, { params, body: { grace = 0 }, by = '' }) =>
    new WorkerOperator(engine).rotate(params.name, parseDuration(grace, 'grace'), by),

  async removeWorker({ engine }, { params }) {
    return { removed: true, secrets: await new WorkerOperator(engine).remove(params.name) };
  },

  async listTags({ engine }) {
    return { tags: await new WorkerOperator(engine).tags() };
  },
} satisfies Operations;

async function workersOf(snapshot: EngineSnapshot): Promise<readonly WorkerView[]> {
  const { engine } = snapshot;
  const ids = makeIdCodec(engine.store.clusterKey);
  const records = await snapshot.workers();
  const held = Map.groupBy(await engine.store.leaseList({}), ({ holder }) => holder);
  const calendarOf = await snapshot.calendar();
  const grants = new Map((await engine.store.workerSettings()).map(({ name, grant }) => [name, grant]));
  return records.map((record) =>
    viewWorker(record, {
      grant: grants.get(record.name) ?? {},
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

function of(map: Map<string, Set<string>>, key: string): Set<string> {
  const found = map.get(key) ?? new Set<string>();
  map.set(key, found);
  return found;
}

function sorted(texts: Iterable<string>): readonly string[] {
  return [...new Set(texts)].sort();
}
