import { roomOf } from '../../core/limits/limit.ts';
import type { World } from '../../core/world.ts';
import type { Lane, LaneBlock, ReadyLane, Store } from '../../store/store.ts';
import { ClaimWaiters } from './claim-waiters.ts';
import { FairTurns } from './fair-turns.ts';
import { HeldLanes, type KnownLane } from './held-lanes.ts';

/**
 * The lanes that this process believes to have ready tasks, least lately served first. A belief only decides where to look
 * first. A lane that is missing here is found by the scan, at most `SCAN_MS` later; one that is wrongly here costs one empty
 * look. Lanes that a limit holds back are kept apart, so that they slow nobody, until their limit gives something back.
 */
export class ReadyLanes {
  /** Comes when there may be work. */
  readonly waiters: ClaimWaiters;
  readonly #store: ReadyLanesStore;
  readonly #world: World;
  readonly #now: () => number;
  readonly #scanMs: number;
  readonly #known = new Map<number, Lane>();
  /** But for those that are held back. */
  readonly #ready = new Map<number, KnownLane>();
  /** Of the task that a lane gave last. */
  readonly #lastPriority = new Map<number, number>();
  readonly #held: HeldLanes;
  readonly #turns = new FairTurns();
  #pausedQueues = new Set<string>();
  /** Pauses and resumes of this process: a scan that began before one must not undo it. */
  #switched = 0;
  #marks = 0;
  #scannedAt = Number.NEGATIVE_INFINITY;
  /** Lanes that it found. */
  #scanned = 0;
  /** How many lanes may be known before some are forgotten. */
  #forgetAt = MAX_KNOWN;
  /** When what is known of pauses was true. */
  #pausesAt = Number.NEGATIVE_INFINITY;
  #scanning: Promise<void> | undefined;
  /** Tasks granted by priority and turn since the last one that was granted by age. */
  #sinceOldest = 0;

  constructor(store: ReadyLanesStore, world: World, scanMs = SCAN_MS) {
    this.#store = store;
    this.#world = world;
    this.#now = world.clock.monotonic;
    this.#scanMs = scanMs;
    this.waiters = new ClaimWaiters(world, scanMs, (lane) =>
      lane === undefined ? !this.knows(() => true) : !this.offers(lane, () => true),
    );
    this.#held = new HeldLanes((lane, counter) => this.#need(lane, counter));
  }

  learn(lane: Lane): void {
    this.#meet(lane);
    if (lane.paused) this.#pausedQueues.add(lane.queue);
  }

  lane(id: number): Lane | undefined {
    return this.#known.get(id);
  }

  /** Something became ready here; where its priority is not told, it is taken for like the last that was seen there. */
  mark(lane: number, priority = this.#lastPriority.get(lane) ?? 0): void {
    this.#put(lane, priority);
    // One that was forgotten is met again by the scan.
    if (!this.#known.has(lane)) this.hint();
    else if (this.#ready.has(lane)) this.waiters.wake(lane);
  }

  /** Another process says that something became ready here. A lane that was never seen has no name yet: the scan finds it. */
  tell(lane: number): void {
    if (this.#known.has(lane)) this.mark(lane);
    else this.hint();
  }

  /**
   * Something is about to become ready here. Whoever waits asks in the same turn, so that a store which commits a turn at
   * once pays for one commit instead of two between a push and its start (1.1 → 0.5 ms). Who asks in vain asks again when
   * the lane is marked.
   */
  expect(lane: number, priority: number): void {
    if (this.waiters.awaited) this.mark(lane, priority);
  }

  /** Anything may have changed: the next claim scans first. */
  hint(): void {
    this.#scannedAt = Number.NEGATIVE_INFINITY;
    this.waiters.call();
  }

  pause(queue: string, paused: boolean): void {
    this.#switched++;
    if (paused) this.#pausedQueues.add(queue);
    else if (this.#pausedQueues.delete(queue)) this.hint();
  }

  /** The last scan is too old to go by. One over very many lanes is not repeated so soon. */
  get stale(): boolean {
    const rest = Math.min(MAX_REST_MS, REST_MS * this.#scanned);
    return this.#now() - this.#scannedAt >= Math.max(this.#scanMs / 2, rest);
  }

  /** What is known of pauses is too old to go by: those of other processes hold within the time of a scan. */
  get outdated(): boolean {
    return this.#now() - this.#pausesAt >= this.#scanMs;
  }

  async refresh(): Promise<void> {
    if (!this.stale) return this.outdated ? this.#scanPauses() : undefined;
    this.#scanning ??= this.#scan().finally(() => {
      this.#scanning = undefined;
    });
    await this.#scanning;
  }

  /** Whether there is a lane to serve for this request. */
  knows(wants: (lane: Lane) => boolean): boolean {
    if (this.hasOpen(wants)) return true;
    return !this.#let(wants).next().done;
  }

  /** Whether that lane is there to serve, and no limit holds it back. */
  offers(id: number, wants: (lane: Lane) => boolean): boolean {
    const lane = this.#ready.has(id) ? this.#open(id) : undefined;
    return lane !== undefined && wants(lane);
  }

  /** As `knows`, but for lanes that a limit holds back: those may be tried for ever. */
  hasOpen(wants: (lane: Lane) => boolean): boolean {
    for (const id of this.#ready.keys()) {
      const lane = this.#open(id);
      if (lane !== undefined && wants(lane)) return true;
    }
    return false;
  }

  /**
   * Lanes to serve for this request: those with the highest priority, each fairness key with its share, and within a key
   * least lately served first. One task in `FLOOR` goes to whoever has waited longest, whatever its priority: nothing
   * starves.
   */
  pick(wants: (lane: Lane) => boolean, limit: number, max: number): readonly PickedLane[] {
    const open: ServableLane[] = [];
    for (const [id, entry] of this.#ready) {
      const lane = this.#open(id);
      if (lane !== undefined && wants(lane)) open.push({ lane, ...entry });
    }
    open.push(...this.#let(wants));
    const top = open.reduce((highest, { priority }) => Math.max(highest, priority), Number.NEGATIVE_INFINITY);
    const urgent = open.filter(({ priority }) => priority === top);
    const [oldest] = open;
    const owed = this.#sinceOldest >= FLOOR && oldest !== undefined && oldest.priority < top;
    const picked = this.#turns.share(urgent, limit, max);
    if (owed) {
      this.#sinceOldest = 0;
      picked.unshift({ lane: oldest.lane.id, mark: oldest.mark, max: 1 });
    }
    for (const { lane } of picked) {
      const entry = this.#held.remove(lane, true);
      if (entry === undefined) this.#toBack(lane);
      else this.#ready.set(lane, entry);
    }
    const at = this.#held.frees;
    return picked.map((pick) => ({ ...pick, at }));
  }

  /**
   * The lane gave less than it was asked for: it is empty, unless it was marked since. What it left of its limits is for the
   * next lane that they hold back.
   */
  empty({ lane, mark }: PickedLane): void {
    if (this.#ready.get(lane)?.mark === mark) this.#ready.delete(lane);
    if (this.#held.entry(lane)?.mark === mark) this.#held.remove(lane, false);
    let some = false;
    for (const { counter, weight } of this.#known.get(lane)?.rules?.uses ?? [])
      some = this.#held.give(counter, weight) || some;
    if (some) this.waiters.wake();
  }

  /** The lane had a whole share: those that had less come before it next time. */
  last({ lane }: PickedLane): void {
    this.#toBack(lane);
  }

  /** It gave so many tasks, of which the last had this priority: nothing more urgent is left. */
  served(id: number, count: number, priority: number): void {
    this.#lastPriority.set(id, priority);
    const entry = this.#entry(id);
    if (entry !== undefined && priority < entry.priority) this.#set(id, { mark: entry.mark, priority });
    this.#sinceOldest += count;
    const lane = this.#known.get(id);
    if (lane !== undefined) this.#turns.served(lane, count);
  }

  /** A limit holds the lane back, as a claim heard that was sent when it was picked. */
  hold({ lane, counter, freesInMs, left }: LaneBlock, { at }: PickedLane): void {
    const entry = this.#ready.get(lane) ?? this.#held.remove(lane, false);
    // Found empty by somebody else meanwhile.
    if (entry === undefined) return;
    this.#ready.delete(lane);
    this.#held.add(lane, entry, counter, left, at);
    if (freesInMs === undefined) return;
    const weight = this.#need(lane, counter);
    this.#world.timers.after(Math.max(1, freesInMs), () => this.freed([{ counter, weight }]), { unref: true });
  }

  /** So much is about to be given back to them: whoever waits asks in the same turn, as for a push (`expect`). */
  freeing(counters: Iterable<{ readonly counter: number; readonly weight: number }>): void {
    if (!this.waiters.awaited) return;
    let some = false;
    for (const { counter, weight } of counters) some = this.#held.freeing(counter, weight) || some;
    if (some) this.waiters.wake();
  }

  /** So much was given back to these counters: lanes that they hold back may try. */
  freed(counters: Iterable<{ readonly counter: number; readonly weight: number }>): void {
    let some = false;
    for (const { counter, weight } of counters) some = this.#held.freed(counter, weight) || some;
    if (some) this.waiters.wake();
  }

  #need(lane: number, counter: number): number {
    return this.#known.get(lane)?.rules?.uses.find((use) => use.counter === counter)?.weight ?? 1;
  }

  /** Lanes that are held back by counters with room. */
  *#let(wants: (lane: Lane) => boolean): Generator<ServableLane> {
    const served = (id: number): boolean => {
      const lane = this.#open(id);
      return lane !== undefined && wants(lane);
    };
    for (const [id, entry] of this.#held.let(served)) yield { lane: this.#known.get(id) as Lane, ...entry };
  }

  /** A lane that is known, and served by nobody's pause. */
  #open(id: number): Lane | undefined {
    const lane = this.#known.get(id);
    return lane === undefined || this.#pausedQueues.has(lane.queue) ? undefined : lane;
  }

  #entry(lane: number): KnownLane | undefined {
    return this.#ready.get(lane) ?? this.#held.entry(lane);
  }

  #set(lane: number, entry: KnownLane): void {
    if (this.#held.entry(lane) === undefined) this.#ready.set(lane, entry);
    else this.#held.update(lane, entry);
  }

  #put(lane: number, priority: number): void {
    const before = this.#entry(lane);
    const highest = before === undefined ? priority : Math.max(priority, before.priority);
    this.#set(lane, { mark: ++this.#marks, priority: highest });
  }

  #toBack(lane: number): void {
    const entry = this.#ready.get(lane);
    if (entry === undefined) return;
    this.#ready.delete(lane);
    this.#ready.set(lane, entry);
  }

  /** All queues, not those of the ready lanes: what becomes ready a moment later must find its queue's pause known. */
  async #scanPauses(): Promise<void> {
    const before = this.#switched;
    const asked = this.#now();
    const queues = await this.#store.queueList();
    this.#pausesAt = asked;
    if (this.#switched !== before) return;
    const paused = new Set(queues.filter((queue) => queue.paused).map(({ name }) => name));
    const resumed = this.#pausedQueues.difference(paused).size > 0;
    this.#pausedQueues = paused;
    if (resumed) this.waiters.wake();
  }

  async #scan(): Promise<void> {
    this.#scannedAt = this.#now();
    await this.#scanPauses();
    let found = 0;
    for (let after = 0; ; ) {
      const page = await this.#store.laneScan({ after, limit: SCAN_PAGE });
      found += page.length;
      await this.#meetAll(page);
      // Who scanned may not be who can take it.
      for (const { id, priority } of page) if (this.#found(id, priority)) this.waiters.wake(id);
      const last = page.at(-1);
      if (last === undefined || page.length < SCAN_PAGE) break;
      after = last.id;
    }
    if (await this.#scanCounters()) this.waiters.wake();
    this.#scanned = found;
  }

  /** Lanes that were never seen, and those of which it matters who served them last: the rest of a lane never changes. */
  async #meetAll(page: readonly ReadyLane[]): Promise<void> {
    const changes = (lane: Lane): boolean => lane.rules?.placement.affinity !== undefined;
    const lanes = page.flatMap(({ id }) => {
      const lane = this.#known.get(id);
      return lane === undefined || changes(lane) ? [id] : [];
    });
    if (lanes.length === 0) return;
    for (const lane of await this.#store.laneGet({ lanes })) if (lane !== undefined) this.#meet(lane);
  }

  /** Keys of limits may be anything, so that lanes are not few for ever: those with nothing in them are forgotten. */
  #meet(lane: Lane): void {
    if (this.#known.size >= this.#forgetAt && !this.#known.has(lane.id)) {
      for (const id of this.#known.keys()) {
        if (this.#entry(id) !== undefined) continue;
        this.#known.delete(id);
        this.#lastPriority.delete(id);
      }
      this.#forgetAt = Math.max(MAX_KNOWN, 2 * this.#known.size);
    }
    this.#known.set(lane.id, lane);
  }

  /** What a scan saw of a lane's priorities is better than what was believed. True: nothing was known to be there. */
  #found(lane: number, priority: number): boolean {
    const entry = this.#entry(lane);
    if (entry === undefined) this.#put(lane, priority);
    else if (entry.priority !== priority) this.#set(lane, { mark: entry.mark, priority });
    return entry === undefined;
  }

  /** A counter may have been freed by a process whose hint was lost. True: there are some that hold lanes back. */
  async #scanCounters(): Promise<boolean> {
    const { counters } = this.#held;
    if (counters.length === 0) return false;
    const { now, counters: records } = await this.#store.counterGet({ counters });
    for (const [i, counter] of counters.entries()) {
      const record = records[i];
      // For how many tasks there is room depends on what they take; who tries in vain is held back again.
      this.#held.look(counter, record === undefined ? 1 : roomOf(record, { counter, weight: 1, cost: 0 }, now));
    }
    return true;
  }
}

type ReadyLanesStore = Pick<Store, 'laneScan' | 'laneGet' | 'queueList' | 'counterGet'>;

/** A lane that could be served. */
export interface ServableLane {
  readonly lane: Lane;
  readonly mark: number;
  readonly priority: number;
}

/** A lane as it was picked. */
export interface PickedLane {
  readonly lane: number;
  readonly mark: number;
  /** What it is asked for. */
  readonly max: number;
  /** How many times something had been given back to a counter by then. */
  readonly at: number;
}

/** What a lost hint hid is found within this time: half of it until a scan is due, half until a waiter looks. */
export const SCAN_MS = 1000;
const SCAN_PAGE = 1000;
export const MAX_KNOWN = 100_000;
/**
 * A lane costs a scan about 8 µs (Postgres): with so much rest for each of them that is a twentieth of a core. By their number and
 * not by the time that it took: a store that hangs for a moment must not leave lost hints unfound for minutes.
 */
const REST_MS = 0.15;
const MAX_REST_MS = 5000;
/** One task in so many goes to the lane that has waited longest. */
export const FLOOR = 16;
