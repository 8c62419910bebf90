import { parseDuration } from '../core/duration.ts';
import { fault } from '../core/errors.ts';
import { freesIn, type Limit, type LimitInput, normalizeLimit, type Rate, type RateInput } from '../core/limit.ts';
import type { Engine } from '../engine/engine.ts';
import type { LimitRecord, SlotRecord, StoreTime } from '../engine/records.ts';
import type { AskedOf } from '../protocol/paths.ts';
import type { Operations } from './operation.ts';
import { type LimitDetailView, type LimitView, viewBounds, viewLimit } from './views.ts';

/** What is to change of a limit. What is not given stays as it is, null takes the bound away. */
export interface LimitEdit {
  readonly concurrent?: number | null | undefined;
  readonly perKey?: number | null | undefined;
  readonly rate?: Span | null | undefined;
  readonly rateBurst?: number | undefined;
  readonly ratePerKey?: boolean | undefined;
  readonly cost?: Span | null | undefined;
  readonly costBurst?: number | undefined;
  readonly costPerKey?: boolean | undefined;
  readonly strategy?: Limit['strategy'] | undefined;
  readonly backlog?: number | null | undefined;
}

/** What is to change, as it comes over the wire: a rate as a whole. */
export interface LimitWire extends Pick<LimitEdit, 'concurrent' | 'perKey' | 'strategy' | 'backlog'> {
  readonly rate?: RateInput | null | undefined;
  readonly cost?: RateInput | null | undefined;
}

interface Span {
  readonly max: number;
  readonly windowMs: number;
}

export interface LimitAnswer {
  readonly limit: LimitView;
  /** Absent when it is new. */
  readonly before?: LimitView;
  readonly changed: boolean;
}

/** What one key of a limit has, or its total. */
type LimitUse = Omit<LimitDetailView['keys'][number], 'key'>;

const MOST_KEYS = 1000;
const MOST_CHANGES = 20;

/** Limits, for who looks at them and changes them from outside. */
export class LimitDesk {
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  async list(): Promise<readonly LimitView[]> {
    return (await this.#engine.limits()).map(viewLimit);
  }

  async detail(name: string): Promise<LimitDetailView> {
    const record = await this.#require(name);
    const [slots, history, time] = await Promise.all([
      this.#engine.limitUse(name, MOST_KEYS),
      this.#engine.limitHistory(name, MOST_CHANGES),
      this.#engine.store.clock(),
    ]);
    const total = slots.find(({ key }) => key === '');
    const keys = slots.filter(({ key }) => key !== '').map((slot) => ({ key: slot.key, ...useOf(slot, time) }));
    return {
      ...viewLimit(record),
      ...(total === undefined ? { used: record.active } : useOf(total, time)),
      keys: keys.toSorted((a, b) => b.used - a.used || (b.pausedUntil ?? 0) - (a.pausedUntil ?? 0)),
      moreKeys: slots.length === MOST_KEYS,
      history: history.map(({ at, by, limit }) => ({
        at,
        by,
        ...(limit === undefined ? {} : { limit: viewBounds(limit) }),
      })),
    };
  }

  /** Makes it if there is none. What would change nothing is not written, so that the history tells of changes only. */
  async set(name: string, edit: LimitEdit, by: string): Promise<LimitAnswer> {
    const before = await this.#find(name);
    const wanted = normalizeLimit(edited(before?.limit, edit));
    const changed = before === undefined || JSON.stringify(wanted) !== JSON.stringify(before.limit);
    if (changed) await this.#engine.setLimit(name, inputOf(wanted), by);
    return {
      limit: viewLimit(await this.#require(name)),
      ...(before === undefined ? {} : { before: viewLimit(before) }),
      changed,
    };
  }

  /** The same in the words of the wire. `new`: it must not be there yet; `there`: it must. */
  async change(name: string, wire: LimitWire, by: string, must: 'new' | 'there'): Promise<LimitView> {
    const found = must === 'there' ? await this.#require(name) : await this.#find(name);
    if (must === 'new' && found !== undefined) {
      const hint = 'Change it with PATCH, or choose another name.';
      throw fault('CONFLICT', { problem: `there is a limit ${name} already` }, { hint });
    }
    const { rate, cost, ...bounds } = wire;
    const edit = {
      ...bounds,
      rate: rate && spanOf('rate', rate),
      rateBurst: rate?.burst,
      ratePerKey: rate?.perKey,
      cost: cost && spanOf('cost', cost),
      costBurst: cost?.burst,
      costPerKey: cost?.perKey,
    };
    return (await this.set(name, edit, by)).limit;
  }

  /** Answers what it was. */
  async remove(name: string, by: string): Promise<LimitView> {
    const before = await this.#require(name);
    await this.#engine.removeLimit(name, by);
    return viewLimit(before);
  }

  /** Nothing that takes from it starts for so long; for 0 ms it is open again. Answers how it stands then. */
  async pause(name: string, key: string | undefined, forMs: number): Promise<LimitDetailView> {
    await this.#require(name);
    if (!(await this.#engine.store.slotPause({ name, key: key ?? '', forMs }))) {
      throw fault(
        'NOT_FOUND',
        { kind: `key of the limit ${name}:`, id: key },
        { hint: `A key is there once a task was pushed with it; "leasehold limits show ${name}" lists them.` },
      );
    }
    // What it held back may start now, and is not seen to be ready by anything else.
    this.#engine.ring.hint();
    return this.detail(name);
  }

  async #find(name: string): Promise<LimitRecord | undefined> {
    return (await this.#engine.limits()).find((limit) => limit.name === name);
  }

  async #require(name: string): Promise<LimitRecord> {
    const found = await this.#find(name);
    if (found !== undefined) return found;
    const [last] = await this.#engine.limitHistory(name, 1);
    const gone = last === undefined ? '' : ` It was removed${last.by === '' ? '' : ` by ${last.by}`}.`;
    throw fault(
      'NOT_FOUND',
      { kind: 'limit', id: name },
      { hint: `"leasehold limits list" shows the limits, "leasehold limits set ${name}" makes one.${gone}` },
    );
  }
}

export const limitOperations = {
  async listLimits({ engine }) {
    return { limits: await new LimitDesk(engine).list() };
  },

  createLimit({ engine }, { body: { name, ...edit }, by = '' }) {
    return new LimitDesk(engine).change(name, oneWord(edit), by, 'new');
  },

  getLimit: ({ engine }, { params }) => new LimitDesk(engine).detail(params.name),

  editLimit: ({ engine }, { params, body, by = '' }) =>
    new LimitDesk(engine).change(params.name, oneWord(body), by, 'there'),

  removeLimit: ({ engine }, { params, by = '' }) => new LimitDesk(engine).remove(params.name, by),

  pauseLimit: ({ engine }, { params, body }) =>
    new LimitDesk(engine).pause(params.name, body.key, parseDuration(body.for, 'for')),

  resumeLimit: ({ engine }, { params, body }) => new LimitDesk(engine).pause(params.name, body.key, 0),
} satisfies Operations;

/** Document 004 says `limit` where we say `concurrent`. */
function oneWord({ limit, ...edit }: AskedOf<'editLimit'>): LimitWire {
  if (limit === undefined) return edit;
  if (edit.concurrent !== undefined) {
    throw fault('INVALID_INPUT', { field: 'limit', problem: 'it is another word for concurrent; give one of them' });
  }
  return { ...edit, concurrent: limit };
}

function spanOf(kind: 'rate' | 'cost', { max, window }: RateInput): Span {
  return { max, windowMs: parseDuration(window, `${kind}.window`) };
}

/** Counters go by the clock of leases, which is not that of the calendar: one was set back, the other never is. */
function useOf(slot: SlotRecord, { calendar, lease }: StoreTime): LimitUse {
  const { active, cap, pausedUntil } = slot;
  const waitMs = freesIn(slot, { slot: slot.id, weight: 1, cost: 0 }, lease) ?? 0;
  return {
    used: active,
    ...(cap === undefined ? {} : { cap }),
    ...(pausedUntil > lease ? { pausedUntil: Math.round(pausedUntil - lease + calendar) } : {}),
    ...(waitMs > 0 ? { freesAt: Math.round(calendar + waitMs) } : {}),
  };
}

function edited(before: Limit | undefined, edit: LimitEdit): LimitInput {
  return {
    concurrent: bound(before?.concurrent, edit.concurrent),
    perKey: bound(before?.perKey, edit.perKey),
    rate: editedRate('rate', before?.rate, { span: edit.rate, burst: edit.rateBurst, perKey: edit.ratePerKey }),
    cost: editedRate('cost', before?.cost, { span: edit.cost, burst: edit.costBurst, perKey: edit.costPerKey }),
    strategy: edit.strategy ?? before?.strategy,
    backlog: bound(before?.backlog, edit.backlog),
  };
}

function bound(before: number | undefined, edit: number | null | undefined): number | undefined {
  return edit === undefined ? before : (edit ?? undefined);
}

interface RateEdit {
  readonly span: Span | null | undefined;
  readonly burst: number | undefined;
  readonly perKey: boolean | undefined;
}

function editedRate(kind: 'rate' | 'cost', before: Rate | undefined, edit: RateEdit): RateInput | undefined {
  const { span, burst, perKey } = edit;
  const basis = span === undefined ? before : (span ?? undefined);
  if (basis === undefined) {
    if (burst === undefined && perKey === undefined) return undefined;
    throw noRateToChange(kind, burst === undefined ? 'per-key' : 'burst');
  }
  return {
    max: basis.max,
    window: basis.windowMs,
    burst: burst ?? (before !== undefined && chosen(before) ? before.burst : undefined),
    perKey: perKey ?? before?.perKey,
  };
}

export function noRateToChange(kind: 'rate' | 'cost', part: 'per-key' | 'burst'): Error {
  const problem = `there is no ${kind} that it could change; give --${kind} too`;
  return fault('INVALID_INPUT', { field: `--${kind}-${part}`, problem });
}

/** A burst that nobody chose stays what follows from the rate. */
function chosen({ max, windowMs, burst }: Rate): boolean {
  return normalizeLimit({ rate: { max, window: windowMs } }).rate?.burst !== burst;
}

function inputOf({ rate, cost, ...limit }: Limit): LimitInput {
  const input = ({ max, windowMs, burst, perKey }: Rate): RateInput => ({ max, window: windowMs, burst, perKey });
  return { ...limit, rate: rate && input(rate), cost: cost && input(cost) };
}
