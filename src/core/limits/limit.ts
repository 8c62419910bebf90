import { type Duration, MAX_DURATION_MS, parseDuration } from '../duration.ts';
import { fault } from '../errors.ts';
import { checkKey, checkName } from '../names.ts';

/** What happens to a new task when the limit is reached. The position is the number that the stores write. */
export const STRATEGIES = ['queue', 'refuse', 'cancel_oldest', 'replace_pending'] as const;
export type Strategy = (typeof STRATEGIES)[number];

export interface RateInput {
  readonly max: number;
  readonly window: Duration;
  /**
   * How many may start at once; default a tenth of `max`. The larger the burst, the lower the steady rate, which is `max - burst + 1`. A
   * task that costs more than the burst starts alone, and its window may then see up to its cost less `burst` too much. For a strict bound,
   * make the burst as large as the largest cost.
   */
  readonly burst?: number | undefined;
  /** For each key instead of in total. */
  readonly perKey?: boolean | undefined;
}

/** A named cap for the whole cluster, as a caller gives it. */
export interface LimitInput {
  /** The most that may run at once in total. */
  readonly concurrent?: number | undefined;
  /** The most that may run at once for each key. */
  readonly perKey?: number | undefined;
  /** The most that may start in any window of time. */
  readonly rate?: RateInput | undefined;
  /** The most cost, tokens for instance, that may be started in any window of time. */
  readonly cost?: RateInput | undefined;
  readonly strategy?: Strategy | undefined;
  /** The most tasks that may wait; a push beyond that is refused. */
  readonly backlog?: number | undefined;
}

export interface Rate {
  readonly max: number;
  readonly windowMs: number;
  readonly burst: number;
  readonly perKey: boolean;
}

export interface Limit {
  readonly concurrent?: number;
  readonly perKey?: number;
  readonly rate?: Rate;
  readonly cost?: Rate;
  readonly strategy: Strategy;
  readonly backlog?: number;
}

/** What a task takes from a limit while it runs. */
export interface LimitUse {
  readonly name: string;
  readonly key?: string;
  readonly weight: number;
  readonly cost: number;
}

export interface LimitUseInput {
  readonly name: string;
  readonly key?: string | undefined;
  /** How much of the limit's room it takes; default 1. */
  readonly weight?: number | undefined;
  /** How much of the limit's cost per window its start takes; default 0. */
  readonly cost?: number | undefined;
}

const LIMIT: ReadonlySet<string> = new Set([
  'concurrent',
  'perKey',
  'rate',
  'cost',
  'strategy',
  'backlog',
] satisfies (keyof LimitInput)[]);
const RATE: ReadonlySet<string> = new Set(['max', 'window', 'burst', 'perKey'] satisfies (keyof RateInput)[]);
const USE: ReadonlySet<string> = new Set(['name', 'key', 'weight', 'cost'] satisfies (keyof LimitUseInput)[]);
const MAX = 1_000_000_000;
const MAX_USES = 8;
/** The stores count in 32 bits. */
const MAX_ACTIVE = 2_000_000_000;

export function normalizeLimit(input: LimitInput): Limit {
  checkObject('limit', input, LIMIT);
  const { concurrent, perKey, rate, cost, strategy = 'queue', backlog } = input;
  if (!STRATEGIES.includes(strategy)) throw refuse('limit.strategy', `it must be one of ${STRATEGIES.join(', ')}`);
  return {
    ...(concurrent === undefined ? {} : { concurrent: whole('limit.concurrent', concurrent, 0) }),
    ...(perKey === undefined ? {} : { perKey: whole('limit.perKey', perKey, 0) }),
    ...(rate === undefined ? {} : { rate: normalizeRate('limit.rate', rate) }),
    ...(cost === undefined ? {} : { cost: normalizeRate('limit.cost', cost) }),
    strategy,
    ...(backlog === undefined ? {} : { backlog: whole('limit.backlog', backlog, 0) }),
  };
}

function normalizeRate(field: string, input: RateInput): Rate {
  checkObject(field, input, RATE);
  const max = whole(`${field}.max`, input.max, 1);
  const windowMs = parseDuration(input.window, `${field}.window`);
  if (windowMs < 1) throw refuse(`${field}.window`, 'it must be at least 1 ms');
  const burst = input.burst === undefined ? Math.max(1, Math.floor(max / 10)) : whole(`${field}.burst`, input.burst, 1);
  if (burst > max) throw refuse(`${field}.burst`, `${burst} is more than max, which is ${max}`);
  // The debt must stay an exact number of µs. And nobody means a burst that lasts a lifetime.
  if ((burst * windowMs) / (max - burst + 1) > MAX_DURATION_MS) {
    throw refuse(`${field}.burst`, `what follows ${burst} at once would have to wait for more than 100 years`);
  }
  const { perKey = false } = input;
  if (typeof perKey !== 'boolean') throw refuse(`${field}.perKey`, 'it must be true or false');
  return { max, windowMs, burst, perKey };
}

/** What a task takes from its limits, in canonical order and form; a name alone takes one. */
export function normalizeUses(input: readonly (string | LimitUseInput)[]): readonly LimitUse[] {
  if (!Array.isArray(input) || input.length > MAX_USES) {
    throw refuse('limits', `it must be a list of at most ${MAX_USES} limits`);
  }
  const uses = Array.from(input, (one: unknown): LimitUse => {
    if (typeof one === 'string') return { name: checkName('limit', one), weight: 1, cost: 0 };
    checkObject('limits', one, USE);
    const { name, key, weight = 1, cost = 0 } = one as LimitUseInput;
    return {
      name: checkName('limit', name),
      ...(key === undefined ? {} : { key: checkKey('limits.key', key) }),
      weight: whole('limits.weight', weight, 1),
      cost: whole('limits.cost', cost, 0),
    };
  });
  uses.sort((a, b) => (a.name < b.name ? -1 : 1));
  const twice = uses.find(({ name }, i) => uses[i - 1]?.name === name);
  if (twice !== undefined) throw refuse('limits', `${twice.name} comes twice`);
  return uses;
}

/** One counter of a limit, as a store keeps it: its total (key '') or one of its keys. */
export interface LimitCounter {
  readonly id: number;
  /** The whole room; undefined: no bound. After it was lowered it may be below `active`: then the counter drains. */
  readonly cap: number | undefined;
  readonly active: number;
  readonly rate: Rate | undefined;
  readonly cost: Rate | undefined;
  /** Theoretical arrival times of the two rates, in µs; see the comment on GCRA below. */
  readonly tat: number;
  readonly costTat: number;
  /** Nothing starts before this time, in ms. */
  readonly pausedUntil: number;
}

/** What one task of a lane takes from a counter. */
export interface CounterUse {
  readonly counter: number;
  readonly weight: number;
  readonly cost: number;
}

export interface Ask {
  readonly lane: number;
  readonly max: number;
  readonly uses: readonly CounterUse[];
}

export interface Allotment {
  readonly lane: number;
  readonly max: number;
  /** What blocks the rest, when it is less than was asked for. */
  readonly block?: Block;
}

export interface Block {
  readonly counter: number;
  /** When time alone makes room; undefined: a task has to end first. */
  readonly freesInMs: number | undefined;
  /** Room that is left for lighter tasks. */
  readonly left: number;
}

/** What a claim changes in a counter. */
export interface CounterChange {
  readonly counter: number;
  readonly active: number;
  readonly tat: number;
  readonly costTat: number;
}

const MICROS = 1000;

/**
 * How many tasks each lane may start now, in the order of the lanes: what one takes, the next one lacks. `now` in ms. The counters must be
 * locked, and granted tasks must be charged before they are unlocked.
 */
export function allot(
  asks: readonly Ask[],
  counters: ReadonlyMap<number, LimitCounter>,
  now: number,
): readonly Allotment[] {
  const left = new Map(counters);
  return asks.map(({ lane, max, uses }) => {
    let most = max;
    let bound: CounterUse | undefined;
    for (const use of uses) {
      const counter = left.get(use.counter);
      const room = counter === undefined ? 0 : roomOf(counter, use, now);
      if (room >= most) continue;
      most = room;
      bound = use;
    }
    for (const use of uses) {
      const counter = left.get(use.counter);
      if (counter !== undefined && most > 0) left.set(use.counter, { ...counter, ...charged(counter, use, most, now) });
    }
    if (bound === undefined) return { lane, max: most };
    const counter = left.get(bound.counter);
    const freesInMs = counter && freesIn(counter, bound, now);
    // Where time is missing, it is missing for lighter tasks too.
    const rest = freesInMs === undefined && counter?.cap !== undefined ? Math.max(0, counter.cap - counter.active) : 0;
    return { lane, max: most, block: { counter: bound.counter, freesInMs, left: rest } };
  });
}

/** Takes the granted tasks from the counters. */
export function charge(
  granted: readonly { readonly uses: readonly CounterUse[]; readonly count: number }[],
  counters: ReadonlyMap<number, LimitCounter>,
  now: number,
): readonly CounterChange[] {
  const changed = new Map<number, LimitCounter>();
  for (const { uses, count } of granted) {
    if (count === 0) continue;
    for (const use of uses) {
      const counter = changed.get(use.counter) ?? counters.get(use.counter);
      if (counter !== undefined) changed.set(use.counter, { ...counter, ...charged(counter, use, count, now) });
    }
  }
  return [...changed.values()]
    .sort((a, b) => a.id - b.id)
    .map(({ id, active, tat, costTat }) => ({ counter: id, active, tat, costTat }));
}

/** How many tasks that take this much could start now. */
export function roomOf(counter: LimitCounter, { weight, cost }: CounterUse, now: number): number {
  if (counter.pausedUntil > now) return 0;
  let room = Math.max(0, Math.floor(leftOf(counter) / weight));
  if (counter.rate !== undefined) room = Math.min(room, available(counter.rate, counter.tat, now, 1));
  if (counter.cost !== undefined && cost > 0)
    room = Math.min(room, available(counter.cost, counter.costTat, now, cost));
  return room;
}

/** When one more task could start by the passing of time alone; undefined while a task has to end first. */
export function freesIn(counter: LimitCounter, { weight, cost }: CounterUse, now: number): number | undefined {
  if (leftOf(counter) < weight) return undefined;
  const waits = [counter.pausedUntil - now];
  if (counter.rate !== undefined) waits.push(waitFor(counter.rate, counter.tat, now, 1));
  if (counter.cost !== undefined && cost > 0) waits.push(waitFor(counter.cost, counter.costTat, now, cost));
  return Math.max(0, ...waits);
}

function charged(
  counter: LimitCounter,
  { weight, cost }: CounterUse,
  count: number,
  now: number,
): Pick<LimitCounter, 'active' | 'tat' | 'costTat'> {
  return {
    active: counter.active + weight * count,
    tat: counter.rate === undefined ? counter.tat : later(counter.rate, counter.tat, now, 1, count),
    costTat: counter.cost === undefined ? counter.costTat : later(counter.cost, counter.costTat, now, cost, count),
  };
}

const leftOf = ({ cap = MAX_ACTIVE, active }: LimitCounter): number => cap - active;

// GCRA: `tat` is when the next unit would arrive at the steady rate; up to `burst` units may come before their time. With one unit each T =
// window / (max - burst + 1), no window of that length sees more than `max` starts, its end excluded.
//
// All times are whole µs, rounded up for each task, so a task owes the same alone and among others. (A calendar time in µs leaves no room
// for a fraction: with fractions, three in ten seconds never started at all.)

/** How long a task of this many units delays the next one. */
function stepOf({ max, windowMs, burst }: Rate, units: number): number {
  return Math.ceil((units * windowMs * MICROS) / (max - burst + 1));
}

/**
 * How far `tat` may be ahead of now. Rounding up must not cost a burst its last start, so less than a ms is forgiven: starts are counted in
 * ms, so those of two windows are at least that far apart.
 */
function aheadOf(rate: Rate): number {
  const exact = Math.floor((rate.burst * rate.windowMs * MICROS) / (rate.max - rate.burst + 1));
  return Math.min(rate.burst * stepOf(rate, 1), exact + MICROS - 1);
}

function available(rate: Rate, tat: number, now: number, units: number): number {
  const owed = Math.max(0, tat - now * MICROS);
  // A task that is larger than a burst could never start. It starts when nothing is owed, and is owed afterwards.
  if (units > rate.burst) return owed === 0 ? 1 : 0;
  return Math.max(0, Math.floor((aheadOf(rate) - owed) / stepOf(rate, units)));
}

function waitFor(rate: Rate, tat: number, now: number, units: number): number {
  const before = units > rate.burst ? 0 : aheadOf(rate) - stepOf(rate, units);
  return Math.ceil((tat - before) / MICROS) - now;
}

/** A cost of a million times `max` must not take `tat` beyond what a store can keep. */
function later(rate: Rate, tat: number, now: number, units: number, count: number): number {
  return Math.max(tat, now * MICROS) + Math.min(stepOf(rate, units) * count, MAX_DURATION_MS * MICROS + MICROS);
}

function checkObject(field: string, value: unknown, known: ReadonlySet<string>): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw refuse(field, 'it must be an object');
  for (const key of Object.keys(value)) {
    if (!known.has(key))
      throw refuse(field, `${JSON.stringify(key.slice(0, 40))} is not one of its keys ${[...known].join(', ')}`);
  }
}

function whole(field: string, value: unknown, min: number): number {
  if (Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= MAX) return value as number;
  throw refuse(field, `it must be a whole number from ${min} to ${MAX}`);
}

function refuse(field: string, problem: string): Error {
  return fault('INVALID_INPUT', { field, problem });
}
