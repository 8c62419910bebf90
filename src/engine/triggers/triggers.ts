import { fault } from '../../core/errors.ts';
import { checkName } from '../../core/names.ts';
import type { TaskState } from '../../core/task/task.ts';
import { type Bucket, fullBucket, type Pace, takeFrom } from '../../core/trigger/bucket.ts';
import {
  checkTrigger,
  DEFAULT_RATE,
  FIRINGS_KEPT,
  type Trigger,
  type TriggerKind,
  type TriggerOutcome,
} from '../../core/trigger/trigger.ts';
import type { World } from '../../core/world.ts';
import type { Delivered, DutyTerm, ReactionLine, ReactionView, Store } from '../../store/store.ts';
import { checkFlag, whole } from '../check.ts';
import type { TaskInterner } from '../push/pushes.ts';
import { Firing, type Happening, type Planned } from './firing.ts';
import type { TriggerHost } from './trigger-host.ts';

/** A trigger as it is stored. */
export interface StoredTrigger {
  readonly trigger: Trigger;
  readonly enabled: boolean;
  readonly revision: number;
  readonly cursor: number;
  readonly createdAt: number;
  readonly changedAt: number;
  /** How often it has fired, refusals included. */
  readonly fired: number;
  readonly last: TriggerFiring | undefined;
}

/** A line of its history. */
export interface TriggerFiring {
  readonly n: number;
  readonly at: number;
  readonly outcome: TriggerOutcome;
  readonly about: string;
  readonly detail: string | undefined;
  /** Absent when there is none, and when it was pruned. */
  readonly task: { readonly id: string; readonly state: TaskState } | undefined;
}

/** What became of one happening. */
export interface Fired {
  /** False: it had come before. */
  readonly fresh: boolean;
  /** The line of its history. */
  readonly n: number;
  /** The id of the task, if there is one. */
  readonly id: string | undefined;
  readonly outcome: TriggerOutcome;
  readonly detail?: string | undefined;
  /** Why there is no task. */
  readonly error?: Error | undefined;
}

export interface FireOptions {
  readonly byHand?: boolean | undefined;
  readonly duty?: DutyTerm | undefined;
  readonly cursor?: { readonly from: number; readonly to: number } | undefined;
  readonly forget?: readonly string[] | undefined;
  /** Lines beside those of what has happened. */
  readonly notes?:
    | readonly { readonly outcome: TriggerOutcome; readonly about: string; readonly detail: string }[]
    | undefined;
}

export interface TriggersDeps {
  readonly store: Pick<
    Store,
    | 'reactionPut'
    | 'reactionFind'
    | 'reactionList'
    | 'reactionRemove'
    | 'reactionEnable'
    | 'reactionFire'
    | 'reactionNote'
    | 'reactionLines'
    | 'taskGet'
    | 'workerLosses'
  >;
  readonly tasks: TaskInterner;
  readonly host: TriggerHost | undefined;
  readonly world: World;
  readonly idOf: (task: { readonly task: number; readonly createdAt: number }) => string;
  /** The number of the newest event of the feed. */
  readonly newestEvent: () => Promise<number>;
  /** A trigger was made or changed. */
  readonly onChange: () => void;
}

/** Above the number of any loss: a read after it returns nothing but the newest number. */
const AHEAD_OF_ALL = 2 ** 52;
/** A trigger that is changed so often between two statements is not a coincidence. */
const TRIES = 5;
const DAY_MS = 24 * 3_600_000;
const MOST_BODY = 4 * 1_048_576;
const MOST_BUCKETS = 10_000;

/** Triggers beside schedules: put, read, turned on and off, fired. What fires them calls `deliver`. */
export class Triggers {
  readonly #deps: TriggersDeps;
  readonly #firing: Firing;
  readonly #buckets = new Map<string, Bucket>();

  constructor(deps: TriggersDeps) {
    this.#deps = deps;
    this.#firing = new Firing(deps);
  }

  /**
   * Makes a trigger or replaces the one of its name. One that still listens to the same goes on where it was, so that a program may put it
   * at each start. One that is off stays off.
   */
  async put(given: Trigger, { enabled }: { readonly enabled?: boolean | undefined } = {}): Promise<StoredTrigger> {
    const trigger = checkTrigger(defined(given));
    checkFlag('enabled', enabled);
    const body = JSON.stringify(trigger);
    if (body.length > MOST_BODY) throw fault('TOO_LARGE', { field: 'trigger', maxBytes: MOST_BODY });
    if (trigger.check === undefined) await this.#firing.act(trigger, trigger.input ?? {});
    const { name, kind } = trigger;
    const before = await this.#deps.store.reactionFind({ name });
    const goesOn = before?.kind === 'event' && streamOf(triggerOf(before)) === streamOf(trigger);
    const cursor = kind !== 'event' || goesOn ? undefined : await this.#newest(trigger);
    await this.#deps.store.reactionPut({ name, kind, body, enabled, cursor });
    if (enabled !== undefined && before !== undefined) await this.enable(name, enabled);
    this.#deps.onChange();
    return this.get(name);
  }

  async find(name: string): Promise<StoredTrigger | undefined> {
    const found = await this.#deps.store.reactionFind({ name: checkName('trigger', name) });
    return found && this.#view(found, await this.#lines(found.last === undefined ? [] : [found.last]));
  }

  async get(name: string): Promise<StoredTrigger> {
    const found = await this.find(name);
    if (found === undefined) throw missing(name);
    return found;
  }

  /** By name. */
  async list(kind?: TriggerKind): Promise<readonly StoredTrigger[]> {
    const found = await this.#deps.store.reactionList(kind === undefined ? {} : { kind });
    const lines = await this.#lines(found.flatMap(({ last }) => last ?? []));
    return found.map((one) => this.#view(one, lines));
  }

  /** With its history. Its tasks stay. */
  async remove(name: string): Promise<void> {
    if (!(await this.#deps.store.reactionRemove({ name: checkName('trigger', name) }))) throw missing(name);
    this.#buckets.delete(name);
    this.#deps.onChange();
  }

  /** What happened while it was off is not made up for. */
  async enable(name: string, enabled: boolean): Promise<void> {
    const found = await this.get(name);
    const cursor = found.trigger.kind === 'event' ? await this.#newest(found.trigger) : 0;
    if (!(await this.#deps.store.reactionEnable({ name, enabled, cursor }))) throw missing(name);
    this.#deps.onChange();
  }

  /** The newest first. */
  async history(
    name: string,
    {
      limit = FIRINGS_KEPT,
      before,
    }: { readonly limit?: number | undefined; readonly before?: number | undefined } = {},
  ): Promise<readonly TriggerFiring[]> {
    whole('limit', limit, 1, 500);
    if (before !== undefined) whole('before', before, 0, Number.MAX_SAFE_INTEGER);
    const lines = await this.#deps.store.reactionLines({ name: checkName('trigger', name), limit, before });
    if (lines.length === 0) await this.get(name);
    const shown = await this.#lines(lines);
    return lines.map((line) => shown.get(line) as TriggerFiring);
  }

  /** Somebody asks for it, whatever kind it is and also while it is off. A repeat under the same key answers as the first. */
  async fire(
    name: string,
    { input, key }: { readonly input?: unknown; readonly key?: string | undefined } = {},
  ): Promise<Fired> {
    const what = {
      key: key === undefined ? undefined : `hand:${key}`,
      keepMs: DAY_MS,
      about: 'by hand',
      told: input,
    };
    return this.fireOne(name, what, { byHand: true });
  }

  /** Throws what keeps it from acting: one that waits for the answer should know. */
  async fireOne(name: string, what: Happening, options: FireOptions = {}): Promise<Fired> {
    for (let i = 0; i < TRIES; i++) {
      const found = await this.get(name);
      if (!found.enabled && options.byHand !== true) throw missing(name);
      const fired = await this.deliver(found, [what], options);
      if (fired === undefined) continue;
      const [one] = fired as readonly [Fired];
      if (one.error !== undefined) throw one.error;
      return one;
    }
    throw fault('CONFLICT', { problem: `the trigger ${name} is being changed all the time` });
  }

  /** Acts once on each that has happened. Undefined: the trigger has changed, is off, or another process has read on; nothing was written. */
  async deliver(
    { trigger, revision }: Pick<StoredTrigger, 'trigger' | 'revision'>,
    happenings: readonly Happening[],
    { byHand, duty, cursor, forget, notes = [] }: FireOptions = {},
  ): Promise<readonly Fired[] | undefined> {
    const planned = await Promise.all(happenings.map((one) => this.#firing.plan(trigger, one, byHand)));
    // An event is read again if this process dies before its commit: its check comes first, and may then come twice.
    const first = cursor !== undefined && trigger.check !== undefined;
    const made = first ? await this.#checkAll(trigger, happenings, planned) : planned;
    const deliveries = [
      ...made.map(({ delivery }) => delivery),
      ...notes.map((note) => ({ ...note, key: undefined, keepMs: 0 })),
    ];
    const answer = await this.#deps.store.reactionFire({
      name: trigger.name,
      revision,
      byHand,
      duty,
      cursor,
      deliveries,
      forget,
    });
    if (answer.kind === 'gone') throw missing(trigger.name);
    if (answer.kind === 'changed') return undefined;
    const fired = made.map((one, i) => this.#fired(one, answer.delivered[i] as Delivered));
    this.#hint(made, answer.delivered);
    if (fired.some(({ fresh, outcome }) => fresh && outcome === 'pushed')) this.#firing.serve(trigger);
    if (!first) this.#checkLater(trigger, happenings, fired, byHand);
    return fired;
  }

  /** How long the next firing has to wait; 0: it need not, and is counted. */
  takePace({ name, rate = DEFAULT_RATE }: Pick<Trigger, 'name' | 'rate'>): number {
    const pace: Pace = { burst: rate, perSecond: rate / 60 };
    const now = this.#deps.world.clock.monotonic();
    let bucket = this.#buckets.get(name);
    if (bucket === undefined) {
      if (this.#buckets.size >= MOST_BUCKETS) this.#buckets.clear();
      this.#buckets.set(name, (bucket = fullBucket(pace, now)));
    }
    return takeFrom(bucket, pace, now);
  }

  /** Tells the process that executes for this trigger that work is left. */
  serve(trigger: Trigger): void {
    this.#firing.serve(trigger);
  }

  async #checkAll(
    trigger: Trigger,
    happenings: readonly Happening[],
    planned: readonly Planned[],
  ): Promise<readonly Planned[]> {
    const made: Planned[] = [];
    for (const [i, one] of planned.entries()) {
      const told = (happenings[i] as Happening).told;
      const checked = one.delivery.outcome === 'accepted' ? await this.#firing.check(trigger, told) : {};
      made.push({ ...one, delivery: { ...one.delivery, ...checked } });
    }
    return made;
  }

  /** Without making anybody wait. */
  #checkLater(
    trigger: Trigger,
    happenings: readonly Happening[],
    fired: readonly Fired[],
    byHand: boolean | undefined,
  ): void {
    for (const [i, { fresh, outcome, n }] of fired.entries()) {
      if (!fresh || outcome !== 'accepted') continue;
      const { told } = happenings[i] as Happening;
      void this.#firing
        .check(trigger, told, byHand)
        .then((became) => this.#deps.store.reactionNote({ name: trigger.name, n, ...became }))
        // The line stays as it is: the store is away or closed.
        .catch(() => undefined);
    }
  }

  #fired({ delivery, error }: Planned, { fresh, n, task, pushed }: Delivered): Fired {
    const id = task && this.#deps.idOf(task);
    if (!fresh) return { fresh, n, id, outcome: id === undefined ? 'accepted' : 'pushed' };
    if (pushed?.ok === false) return { fresh, n, id, outcome: 'refused', error: refusal(pushed) };
    const { outcome, detail } = delivery;
    return { fresh, n, id, outcome, detail, ...(error === undefined ? {} : { error }) };
  }

  /** Waiting claims of this process look at once. */
  #hint(made: readonly Planned[], delivered: readonly Delivered[]): void {
    const pushed = delivered.flatMap(({ pushed }, i) => {
      const item = made[i]?.delivery.item;
      return item !== undefined && pushed?.ok === true ? [{ item, pushed }] : [];
    });
    this.#deps.tasks.pushed(
      pushed.map(({ item }) => item),
      pushed.map((one) => one.pushed),
    );
  }

  async #newest(trigger: Trigger): Promise<number> {
    if (streamOf(trigger) === 'feed') return this.#deps.newestEvent();
    return (await this.#deps.store.workerLosses({ after: AHEAD_OF_ALL, limit: 1 })).last;
  }

  #view(found: ReactionView, lines: ReadonlyMap<ReactionLine, TriggerFiring>): StoredTrigger {
    const { enabled, revision, cursor, createdAt, changedAt, lines: fired, last } = found;
    const trigger = triggerOf(found);
    return { trigger, enabled, revision, cursor, createdAt, changedAt, fired, last: last && lines.get(last) };
  }

  async #lines(lines: readonly ReactionLine[]): Promise<ReadonlyMap<ReactionLine, TriggerFiring>> {
    const tasks = [...new Set(lines.flatMap(({ task }) => task ?? []))];
    const records = tasks.length === 0 ? [] : await this.#deps.store.taskGet({ tasks });
    const byTask = new Map(records.flatMap((record) => (record === undefined ? [] : [[record.task, record] as const])));
    return new Map(
      lines.map((line) => {
        const { n, at, outcome, about, detail } = line;
        const record = byTask.get(line.task ?? 0);
        const task = record && { id: this.#deps.idOf(record), state: record.state };
        return [line, { n, at, outcome, about, detail, task }];
      }),
    );
  }
}

export function triggerOf({ body }: { readonly body: string }): Trigger {
  return JSON.parse(body) as Trigger;
}

/** What an event trigger reads: the feed, or the losses of workers. */
export function streamOf({ on }: Pick<Trigger, 'on'>): 'feed' | 'losses' {
  return on === 'worker_lost' ? 'losses' : 'feed';
}

/** Fields that are undefined are not there. */
function defined(given: Trigger): Trigger {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return given;
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as unknown as Trigger;
}

function refusal(refused: {
  readonly limit?: string;
  readonly key?: string | undefined;
  readonly conflict?: number;
}): Error {
  if (refused.limit !== undefined) return fault('LIMIT_REACHED', { limit: refused.limit, key: refused.key });
  return fault('UNIQUE_CONFLICT', { task: refused.conflict });
}

function missing(name: string): Error {
  const hint = '"leasehold triggers list" shows the triggers.';
  return fault('NOT_FOUND', { kind: 'trigger', id: name }, { hint });
}
