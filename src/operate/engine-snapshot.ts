import { fault } from '../core/errors.ts';
import { DEFAULT_SILENCE, type Silence } from '../core/node.ts';
import type { TaskState } from '../core/task/task.ts';
import type { Engine } from '../engine/engine.ts';
import type { Lane, TaskQuery, TaskRecord, WorkerRecord } from '../engine/records.ts';
import type { CredentialSafe } from './credentials/safe.ts';
import type { HookSecrets } from './triggers/hook-secrets.ts';
import { type TaskView, type ViewContext, viewTask } from './views.ts';

export interface TaskFilter {
  /** Empty: all. */
  readonly queues: readonly string[];
  readonly states: readonly TaskState[];
  readonly handlers: readonly string[];
  /** Created then or later, and before `until`: calendar time. */
  readonly from: number | undefined;
  readonly until: number | undefined;
  /** Only tasks older than this one. */
  readonly before: number | undefined;
  readonly limit: number;
}

/** Rows in one read. */
const PAGE = 500;
const BATCH = 250;

/** The number of a task, from its public id or from the number as text. */
export function numberOf(engine: Engine, id: string): number {
  return /^[1-9]\d{0,14}$/.test(id) ? Number(id) : engine.parseId(id);
}

/** A view of an engine for the time of one answer: workers and clocks are read once. */
export class EngineSnapshot {
  readonly engine: Engine;
  readonly silence: Silence;
  /** Of a node: what keeps the secrets of webhooks. */
  readonly hooks: HookSecrets | undefined;
  /** What seals values of credentials; of whoever has the secret of the cluster. */
  readonly safe: CredentialSafe | undefined;
  #ahead: Promise<number> | undefined;
  #workers: Promise<readonly WorkerRecord[]> | undefined;

  constructor(engine: Engine, silence = DEFAULT_SILENCE, hooks?: HookSecrets, safe?: CredentialSafe) {
    this.engine = engine;
    this.silence = silence;
    this.hooks = hooks;
    this.safe = safe;
  }

  numberOf(id: string): number {
    return numberOf(this.engine, id);
  }

  async record(id: string): Promise<TaskRecord> {
    const record = await this.engine.get(this.numberOf(id));
    if (record === undefined) throw fault('NOT_FOUND', { kind: 'task', id });
    return record;
  }

  workers(): Promise<readonly WorkerRecord[]> {
    this.#workers ??= this.engine.workers.list();
    return this.#workers;
  }

  /** Tasks by number; those that are no longer kept are left out. */
  async shown(tasks: readonly number[]): Promise<readonly TaskView[]> {
    const views: TaskView[] = [];
    for (const batch of batches(tasks)) {
      const records = await this.engine.store.taskGet({ tasks: batch });
      views.push(...(await this.#viewed(records.filter((record) => record !== undefined))));
    }
    return views;
  }

  /** Newest first. */
  async list({ queues, limit, before, ...filter }: TaskFilter): Promise<readonly TaskView[]> {
    const filters = queues.length === 0 ? [undefined] : [...new Set(queues)];
    const found: TaskRecord[] = [];
    for (const queue of filters) {
      for await (const page of this.#pages({ queue, ...filter }, limit, before)) found.push(...page);
    }
    return this.#viewed(found.toSorted((a, b) => b.task - a.task).slice(0, limit));
  }

  /** Workers are read only where a name is shown: a list of waiting tasks needs none. */
  async viewContext(records: readonly TaskRecord[], always = false): Promise<ViewContext> {
    const named = always || records.some(({ holder }) => holder !== undefined);
    const names = new Map(named ? (await this.workers()).map(({ worker, name }) => [worker, name]) : []);
    const lanes = await this.#lanes(records);
    return {
      idOf: (task) => this.engine.idOf(task),
      workerName: (worker) => names.get(worker) ?? `worker ${worker}`,
      calendarOf: await this.calendar(),
      rulesOf: (lane) => lanes.get(lane)?.rules,
      kin: await this.#kin(records),
    };
  }

  /** Expiries and beats are in lease time, which nobody can set. People read calendar time. */
  async calendar(): Promise<(leaseTime: number) => number> {
    this.#ahead ??= this.engine.store.clock().then(({ calendar, lease }) => calendar - lease);
    const ahead = await this.#ahead;
    return (leaseTime) => Math.round(leaseTime + ahead);
  }

  async #viewed(records: readonly TaskRecord[]): Promise<readonly TaskView[]> {
    const context = await this.viewContext(records);
    return records.map((record) => viewTask(record, context));
  }

  async *#pages(
    filter: Omit<TaskFilter, 'queues' | 'limit' | 'before'> & { readonly queue: string | undefined },
    limit: number,
    from: number | undefined,
  ): AsyncGenerator<readonly TaskRecord[]> {
    const { queue, states, handlers, from: since, until } = filter;
    let left = limit;
    for (let before = from; left > 0; ) {
      const query: TaskQuery = {
        limit: Math.min(PAGE, left),
        ...(queue === undefined ? {} : { queue }),
        ...(states.length === 0 ? {} : { states }),
        ...(handlers.length === 0 ? {} : { handlers }),
        ...(since === undefined ? {} : { from: since }),
        ...(until === undefined ? {} : { until }),
        ...(before === undefined ? {} : { before }),
      };
      const page = await this.engine.list(query);
      if (page.length > 0) yield page;
      if (page.length < query.limit) return;
      left -= page.length;
      before = page.at(-1)?.task;
    }
  }

  /** Ids are made of a number and a time, and a record has the number alone. Only children have any. */
  async #kin(records: readonly TaskRecord[]): Promise<ReadonlyMap<number, string>> {
    const kin = new Map<number, string>();
    const above = new Set(records.flatMap(({ parent, root }) => [parent ?? [], root ?? []].flat()));
    for (const batch of batches([...above])) {
      for (const one of await this.engine.store.runGet({ tasks: batch })) {
        if (one !== undefined) kin.set(one.task, this.engine.idOf(one));
      }
    }
    return kin;
  }

  async #lanes(records: readonly TaskRecord[]): Promise<ReadonlyMap<number, Lane>> {
    const lanes = new Map<number, Lane>();
    for (const batch of batches([...new Set(records.map(({ lane }) => lane))])) {
      for (const lane of await this.engine.store.laneGet({ lanes: batch }))
        if (lane !== undefined) lanes.set(lane.id, lane);
    }
    return lanes;
  }
}

function* batches<T>(items: readonly T[]): Generator<readonly T[]> {
  for (let from = 0; from < items.length; from += BATCH) yield items.slice(from, from + BATCH);
}
