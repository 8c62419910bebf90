import { parseDuration } from '../../core/duration.ts';
import { fault, isEngineError } from '../../core/errors.ts';
import { freesIn } from '../../core/limits/limit.ts';
import type { EditTerms, LimitEdit } from '../../core/limits/limit-edit.ts';
import type { Engine } from '../../engine/engine.ts';
import type {
  CounterRecord,
  LimitEdited,
  LimitEditing,
  LimitRecord,
  LimitVersion,
  StoreTime,
} from '../../engine/records.ts';
import type { RequestOf } from '../../protocol/paths.ts';
import { type LimitDetailView, type LimitView, viewBounds, viewLimit } from '../views.ts';
import type { Operations } from './operation.ts';

export type { LimitEdit };

export interface LimitAnswer {
  readonly limit: LimitView;
  /** Absent when it is new. */
  readonly before?: LimitView;
  readonly changed: boolean;
}

/** The use of one key of a limit, or its total. */
type LimitUse = Omit<LimitDetailView['keys'][number], 'key'>;

const MOST_KEYS = 1000;
const MOST_CHANGES = 20;

/** Reads and changes limits. */
export class LimitService {
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  async list(): Promise<readonly LimitView[]> {
    return (await this.#engine.limits.list()).map(viewLimit);
  }

  async detail(name: string): Promise<LimitDetailView> {
    const record = await this.#require(name);
    const [counters, history, time] = await Promise.all([
      this.#engine.limits.use(name, MOST_KEYS),
      this.#engine.limits.history(name, MOST_CHANGES),
      this.#engine.store.clock(),
    ]);
    const total = counters.find(({ key }) => key === '');
    const keys = counters
      .filter(({ key }) => key !== '')
      .map((counter) => ({ key: counter.key, ...useOf(counter, time) }));
    return {
      ...viewLimit(record),
      ...(total === undefined ? { used: record.active } : useOf(total, time)),
      keys: keys.toSorted((a, b) => b.used - a.used || (b.pausedUntil ?? 0) - (a.pausedUntil ?? 0)),
      moreKeys: counters.length === MOST_KEYS,
      history: history.map(({ at, by, limit, paused }) => ({
        at,
        by,
        ...(limit === undefined ? {} : { limit: viewBounds(limit) }),
        ...(paused === undefined ? {} : { paused }),
      })),
    };
  }

  /** Makes the limit if there is none, unless the terms say otherwise. An edit that changes nothing is not written. */
  async set(name: string, edit: LimitEdit, by: string, terms: EditTerms = {}): Promise<LimitAnswer> {
    const { before, after } = await this.#edit({ name, edit, by, ...terms });
    const { active = 0, waiting = 0 } = (await this.#find(name)) ?? {};
    const view = (version: LimitVersion): LimitView => viewLimit({ name, ...version, active, waiting });
    return {
      limit: view(after),
      ...(before === undefined ? {} : { before: view(before) }),
      changed: before?.revision !== after.revision,
    };
  }

  async #edit(editing: LimitEditing): Promise<LimitEdited> {
    try {
      return await this.#engine.limits.edit(editing);
    } catch (error) {
      if (isEngineError(error, 'NOT_FOUND')) throw await this.#missing(editing.name);
      throw error;
    }
  }

  /** Answers the limit as it was. */
  async remove(name: string, by: string): Promise<LimitView> {
    const before = await this.#require(name);
    await this.#engine.limits.remove(name, by);
    return viewLimit(before);
  }

  /** Nothing that uses the limit starts for so long; 0 ms resumes it. Answers the limit after it. */
  async pause(name: string, key: string | undefined, forMs: number): Promise<LimitDetailView> {
    await this.#require(name);
    if (!(await this.#engine.limits.pause(name, key ?? '', forMs))) {
      throw fault(
        'NOT_FOUND',
        { kind: `key of the limit ${name}:`, id: key },
        { hint: `A key exists once a task was pushed with it; "leasehold limits show ${name}" lists them.` },
      );
    }
    return this.detail(name);
  }

  async #find(name: string): Promise<LimitRecord | undefined> {
    return (await this.#engine.limits.list()).find((limit) => limit.name === name);
  }

  async #require(name: string): Promise<LimitRecord> {
    const found = await this.#find(name);
    if (found !== undefined) return found;
    throw await this.#missing(name);
  }

  async #missing(name: string): Promise<Error> {
    const [last] = await this.#engine.limits.history(name, 1);
    const gone = last === undefined ? '' : ` It was removed${last.by === '' ? '' : ` by ${last.by}`}.`;
    return fault(
      'NOT_FOUND',
      { kind: 'limit', id: name },
      { hint: `"leasehold limits list" shows the limits, "leasehold limits set ${name}" makes one.${gone}` },
    );
  }
}

export const limitOperations = {
  async listLimits({ engine }) {
    return { limits: await new LimitService(engine).list() };
  },

  async createLimit({ engine }, { body: { name, ...edit }, by = '' }) {
    return (await new LimitService(engine).set(name, oneWord(edit), by, { must: 'new' })).limit;
  },

  getLimit: ({ engine }, { params }) => new LimitService(engine).detail(params.name),

  async editLimit({ engine }, { params, body: { ifRevision, ...edit }, by = '' }) {
    const terms = { must: 'there', ifRevision } as const;
    const { limit, before, changed } = await new LimitService(engine).set(params.name, oneWord(edit), by, terms);
    return { ...limit, ...(changed && { before }) };
  },

  removeLimit: ({ engine }, { params, by = '' }) => new LimitService(engine).remove(params.name, by),

  pauseLimit: ({ engine }, { params, body }) =>
    new LimitService(engine).pause(params.name, body.key, parseDuration(body.for, 'for')),

  resumeLimit: ({ engine }, { params, body }) => new LimitService(engine).pause(params.name, body.key, 0),
} satisfies Operations;

/** dazflow says `limit` where we say `concurrent`. */
function oneWord({ limit, ...edit }: Omit<RequestOf<'editLimit'>, 'ifRevision'>): LimitEdit {
  if (limit === undefined) return edit;
  if (edit.concurrent !== undefined) {
    throw fault('INVALID_INPUT', { field: 'limit', problem: 'it is another word for concurrent; give one of them' });
  }
  return { ...edit, concurrent: limit };
}

/** Counters use lease time, not calendar time: the calendar may be set back, lease time never is. */
function useOf(counter: CounterRecord, { calendar, lease }: StoreTime): LimitUse {
  const { active, cap, pausedUntil } = counter;
  const waitMs = freesIn(counter, { counter: counter.id, weight: 1, cost: 0 }, lease) ?? 0;
  return {
    used: active,
    ...(cap === undefined ? {} : { cap }),
    ...(pausedUntil > lease ? { pausedUntil: Math.round(pausedUntil - lease + calendar) } : {}),
    ...(waitMs > 0 ? { freesAt: Math.round(calendar + waitMs) } : {}),
  };
}
