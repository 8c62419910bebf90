import { type FeedEvent, isTaskEvent, type TaskEvent } from '../../core/task/event.ts';
import { takes } from '../../core/trigger/told.ts';
import { DEFAULT_RATE, isTogether, type Trigger } from '../../core/trigger/trigger.ts';
import type { DutyTenure, WorkerLoss } from '../../store/store.ts';
import type { Engine } from '../engine.ts';
import { type Happening, servedQueue } from '../triggers/firing.ts';
import { type FireOptions, type StoredTrigger, streamOf, triggerOf } from '../triggers/triggers.ts';
import type { Duty, PassResult } from './duty.ts';

const PAGE = 500;
/** Firings of one commit: each of them is a task. */
const MOST_AT_ONCE = 50;
/** A trigger that takes nothing writes down how far it has read after so many events, and after so long. */
const EVENTS_UNWRITTEN = 1000;
const UNWRITTEN_MS = 60_000;
/** How often to look for work that was left by a process which was to execute it. */
const SERVE_MS = 15_000;
const KEEP_MS = 24 * 3_600_000;
const MOST_TOLD = 20;

/** How far a trigger was read in this term. Nothing that it takes lies between its cursor and there. */
interface Place {
  readonly revision: number;
  readonly cursor: number;
  at: number;
  writtenAt: number;
  /** Since when its firings wait for their pace. */
  held: boolean;
}

interface Read {
  readonly number: number;
  readonly event: FeedEvent | WorkerLoss;
}

interface Page {
  readonly read: readonly Read[];
  readonly reset: boolean;
  readonly last: number;
  readonly full: boolean;
}

/**
 * Fires event triggers. Each has a cursor in the store, which moves in the commit that pushes what its events ask for: an event is acted on
 * once, by whichever process holds the duty, and however often that dies. What its firings wait for is their pace, and is never dropped.
 */
export class EventTriggers implements Duty {
  readonly name = 'triggers';
  readonly intervalMs = 1000;
  readonly #engine: Engine;
  readonly #places = new Map<string, Place>();
  #serveAt = 0;
  /** Whether there is a trigger that a commit may fire. */
  active = false;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  begin(): void {
    this.#places.clear();
    this.#serveAt = 0;
  }

  async tick(term: DutyTenure): Promise<PassResult> {
    const all = (await this.#engine.store.reactionList()).filter(({ enabled }) => enabled);
    const stored = all.map((one) => ({ ...one, trigger: triggerOf(one) }));
    await this.#serveLeft(stored);
    const ours = stored.filter(({ kind }) => kind === 'event');
    this.active = ours.length > 0;
    this.#forget(ours);
    const passes: PassResult[] = [];
    for (const stream of ['feed', 'losses'] as const) {
      const some = ours.filter(({ trigger }) => streamOf(trigger) === stream);
      if (some.length > 0) passes.push(await this.#pass(term, stream, some));
    }
    const waits = passes.flatMap(({ nextInMs }) => nextInMs ?? []);
    return {
      did: passes.reduce((sum, { did }) => sum + did, 0),
      more: passes.some(({ more }) => more === true),
      nextInMs: waits.length === 0 ? undefined : Math.min(...waits),
    };
  }

  async #pass(term: DutyTenure, stream: 'feed' | 'losses', some: readonly Stored[]): Promise<PassResult> {
    const from = Math.min(...some.map((one) => this.#placeOf(one).at));
    const page = await this.#read(stream, from);
    let did = 0;
    let more = page.full;
    let waitMs: number | undefined;
    for (const one of some) {
      const place = this.#placeOf(one);
      // Another one is behind, and is read first.
      if (place.at > Math.max(page.last, from) && !page.reset) continue;
      const pass = await this.#fire(term, one, place, page);
      did += pass.did;
      more ||= pass.more === true;
      if (pass.nextInMs !== undefined) waitMs = Math.min(waitMs ?? pass.nextInMs, pass.nextInMs);
    }
    return { did, more: more && waitMs === undefined, nextInMs: waitMs };
  }

  async #fire(term: DutyTenure, one: Stored, place: Place, page: Page): Promise<PassResult> {
    const { trigger } = one;
    const first = page.read[0]?.number ?? page.last + 1;
    if (page.reset && (place.at < first - 1 || place.at > page.last))
      return this.#tellLost(term, one, place, first - 1);
    const news = page.read.filter(({ number }) => number > place.at);
    const taken = news.filter(({ event }) => takesAny(trigger, event));
    if (taken.length === 0) return this.#readOn(term, one, place, Math.max(place.at, page.last));
    const batches = isTogether(trigger) ? [taken] : taken.slice(0, MOST_AT_ONCE).map((read) => [read]);
    const { now, waitMs } = this.#paced(trigger, batches);
    const notes = waitMs > 0 && !place.held ? [heldNote(taken.length - now.length, trigger)] : [];
    place.held = waitMs > 0;
    if (now.length === 0 && notes.length === 0) return { did: 0, nextInMs: waitMs };
    const last = now.at(-1)?.at(-1)?.number ?? place.at;
    const to = waitMs === 0 && batches.length === now.length && isWhole(batches, taken) ? page.last : last;
    const what = await this.#happenings(trigger, now);
    const did = await this.#write(term, one, place, what, to, notes);
    return { did, more: true, ...(waitMs > 0 ? { nextInMs: waitMs } : {}) };
  }

  /** How many of them may fire now, and when the next one may. */
  #paced(
    trigger: Trigger,
    batches: readonly (readonly Read[])[],
  ): { readonly now: readonly (readonly Read[])[]; readonly waitMs: number } {
    for (let i = 0; i < batches.length; i++) {
      const waitMs = this.#engine.triggers.takePace(trigger);
      if (waitMs > 0) return { now: batches.slice(0, i), waitMs };
    }
    return { now: batches, waitMs: 0 };
  }

  async #write(
    term: DutyTenure,
    one: Stored,
    place: Place,
    what: readonly Happening[],
    to: number,
    notes: FireOptions['notes'],
  ): Promise<number> {
    const cursor = { from: place.cursor, to };
    const fired = await this.#engine.triggers.deliver(one, what, { duty: term, cursor, notes });
    // The next look reads it anew.
    this.#places.delete(one.name);
    if (fired !== undefined) {
      const { revision } = one;
      this.#places.set(one.name, { revision, cursor: to, at: to, writtenAt: this.#now(), held: place.held });
    }
    return fired?.filter(({ fresh }) => fresh).length ?? 0;
  }

  /** What it has read without taking anything is written down now and then: the retention must not overtake it. */
  async #readOn(term: DutyTenure, one: Stored, place: Place, to: number): Promise<PassResult> {
    place.at = to;
    const isLate = to > place.cursor && this.#now() - place.writtenAt > UNWRITTEN_MS;
    if (!isLate && to - place.cursor < EVENTS_UNWRITTEN) return { did: 0 };
    await this.#write(term, one, place, [], to, []);
    return { did: 0 };
  }

  async #tellLost(term: DutyTenure, one: Stored, place: Place, to: number): Promise<PassResult> {
    const detail = 'the retention has removed events that it had not read, or the store was restored from a backup';
    await this.#write(term, one, place, [], to, [{ outcome: 'lost', about: `events after ${place.at}`, detail }]);
    return { did: 0, more: true };
  }

  async #read(stream: 'feed' | 'losses', after: number): Promise<Page> {
    const { store } = this.#engine;
    if (stream === 'losses') {
      const { losses, reset, last } = await store.workerLosses({ after, limit: PAGE });
      return { read: losses.map((event) => ({ number: event.n, event })), reset, last, full: losses.length === PAGE };
    }
    const { events, reset, last } = await store.eventRead({ after, limit: PAGE });
    return { read: events.map((event) => ({ number: event.seq, event })), reset, last, full: events.length === PAGE };
  }

  /** With how many triggers led to each: the task of an event, or the root of its tree, may be one that a trigger has pushed. */
  async #happenings(trigger: Trigger, batches: readonly (readonly Read[])[]): Promise<readonly Happening[]> {
    const { store } = this.#engine;
    const numbers = [...new Set(batches.flat().flatMap(({ event }) => ('task' in event ? event.task : [])))];
    const records = numbers.length === 0 ? [] : await store.taskGet({ tasks: numbers });
    const byTask = new Map(records.flatMap((record) => (record === undefined ? [] : [[record.task, record] as const])));
    const roots = numbers.map((task) => byTask.get(task)?.root ?? task);
    const links = numbers.length === 0 ? [] : await store.reactionLinks({ tasks: [...numbers, ...roots] });
    const linksOf = new Map(
      numbers.map((task, i) => [task, Math.max(links[i] ?? 0, links[numbers.length + i] ?? 0)] as const),
    );
    return batches.map((batch) => {
      const most = Math.max(0, ...batch.map(({ event }) => ('task' in event ? (linksOf.get(event.task) ?? 0) : 0)));
      const told = batch.map((read) => this.#told(trigger, read, (task) => byTask.get(task)?.handler));
      return isTogether(trigger)
        ? together(trigger, batch, told, most)
        : single(trigger, batch[0] as Read, told[0], most);
    });
  }

  #told({ on }: Trigger, { number, event }: Read, handlerOf: (task: number) => string | undefined): Told {
    if ('n' in event)
      return {
        on,
        number,
        at: event.at,
        worker: event.name,
        ...(event.host === undefined ? {} : { host: event.host }),
      };
    if (!isTaskEvent(event))
      return {
        on,
        number,
        at: event.at,
        worker: event.name,
        ...(event.host === undefined ? {} : { host: event.host }),
      };
    const { at, queue, state, attempt } = event;
    const handler = handlerOf(event.task);
    const task = this.#engine.idOf(event);
    return { on, number, at, task, queue, state, attempt, ...(handler === undefined ? {} : { handler }) };
  }

  async #serveLeft(stored: readonly Stored[]): Promise<void> {
    if (this.#now() < this.#serveAt) return;
    this.#serveAt = this.#now() + SERVE_MS;
    for (const { trigger } of stored) {
      const served = servedQueue(trigger);
      if (served !== undefined && (await this.#engine.stats(served.queue)).ready > 0)
        this.#engine.triggers.serve(trigger);
    }
  }

  #placeOf({ name, revision, cursor }: Stored): Place {
    const known = this.#places.get(name);
    if (known !== undefined && known.revision === revision && known.cursor === cursor) return known;
    const place = { revision, cursor, at: cursor, writtenAt: this.#now(), held: false };
    this.#places.set(name, place);
    return place;
  }

  #forget(ours: readonly Stored[]): void {
    const names = new Set(ours.map(({ name }) => name));
    for (const name of this.#places.keys()) if (!names.has(name)) this.#places.delete(name);
  }

  #now(): number {
    return this.#engine.world.clock.monotonic();
  }
}

type Stored = Pick<StoredTrigger, 'trigger' | 'revision' | 'cursor'> & { readonly name: string };
type Told = Readonly<Record<string, unknown>>;

function takesAny(trigger: Trigger, event: FeedEvent | WorkerLoss): boolean {
  return 'n' in event || takes(trigger, event);
}

/** Whether all that was taken is in these. */
function isWhole(batches: readonly (readonly Read[])[], taken: readonly Read[]): boolean {
  return batches.reduce((sum, batch) => sum + batch.length, 0) === taken.length;
}

function single({ on }: Trigger, { number, event }: Read, told: Told | undefined, links: number): Happening {
  const of = 'task' in event ? `${(event as TaskEvent).queue} ${String(told?.['task'])}` : event.name;
  return { key: `${keyOf(event)}:${number}`, keepMs: KEEP_MS, about: `${on} ${of}`, told, links };
}

/** One for many. The first of them are named. */
function together({ on }: Trigger, batch: readonly Read[], told: readonly Told[], links: number): Happening {
  const [first] = batch as readonly [Read, ...Read[]];
  const last = batch.at(-1) as Read;
  const key = `${keyOf(first.event)}:${first.number}-${last.number}`;
  const body = { on, count: batch.length, first: first.number, last: last.number, some: told.slice(0, MOST_TOLD) };
  return { key, keepMs: KEEP_MS, about: `${on}, ${batch.length} at once`, told: body, links };
}

const keyOf = (event: FeedEvent | WorkerLoss): string => ('n' in event ? 'loss' : 'event');

function heldNote(left: number, { rate }: Trigger): NonNullable<FireOptions['notes']>[number] {
  const detail = `it fires more than ${rate ?? DEFAULT_RATE} times in a minute; the events wait for their turn`;
  return { outcome: 'held', about: `${left} or more events`, detail };
}
