import { roomOf } from '../../core/limits/limit.ts';
import type { World } from '../../core/world.ts';
import type { Lane, LaneBlock, ReadyLane, Store } from '../../store/store.ts';
import { BlockedLanes, type KnownLane } from './blocked-lanes.ts';
import { ClaimWaiters } from './claim-waiters.ts';
import { FairTurns } from './fair-turns.ts';
import type { PickedLane } from './lane-choice.ts';

/**
 * The lanes that this process believes to have ready tasks, least recently served first. A belief only decides where a claim looks first. A
 * missing lane is found by the scan, at most `SCAN_MS` later. A wrong entry costs one empty look. Lanes that a limit blocks are kept apart,
 * so that they slow down nobody, until their limit gives something back.
 */
export class ReadyLanes {
  /** Wakes waiting claims when there may be work. */
  readonly waiters: ClaimWaiters;
  readonly #store: ReadyLanesStore;
  readonly #world: World;
  readonly #now: () => number;
  readonly #scanMs: number;
  readonly #known = new Map<number, Lane>();
  /** Without the lanes that a limit blocks. */
  readonly #ready = new FairTurns();
  /** Lanes that other processes have reported and that the next scan reads. */
  readonly #reported = new Set<number>();
  /** Lane → priority of the last task that it gave. */
  readonly #lastPriority = new Map<number, number>();
  readonly #held: BlockedLanes;
  #pausedQueues = new Set<string>();
  /** Counts the pauses and resumes of this process: a scan that began before one must not undo it. */
  #pauseChanges = 0;
  #marks = 0;
  #scannedAt = Number.NEGATIVE_INFINITY;
  /** How many lanes the last scan found. */
  #scanned = 0;
  /** When this many lanes are known, some are forgotten. */
  #forgetAt = MAX_KNOWN;
  /** The time at which the known pauses were read. */
  #pausesAt = Number.NEGATIVE_INFINITY;
  #scanning: Promise<void> | undefined;
  /** Tasks granted by priority and fair share since the last one that was granted by age. */
  #sinceOldest = 0;

  /** A queue is known to be paused from now on. */
  readonly #onPaused: (queue: string) => void;

  constructor(store: ReadyLanesStore, world: World, scanMs = SCAN_MS, onPaused: (queue: string) => void = () => {}) {
    this.#onPaused = onPaused;
    this.#store = store;
    this.#world = world;
    this.#now = world.clock.monotonic;
    this.#scanMs = scanMs;
    this.waiters = new ClaimWaiters(world, scanMs, (lane) =>
      lane === undefined ? !this.knows(() => true) : !this.offers(lane, () => true),
    );
    this.#held = new BlockedLanes((lane, counter) => this.#need(lane, counter));
  }

  learn(lane: Lane): void {
    this.#addKnown(lane);
    if (lane.paused) this.#markPaused(lane.queue);
  }

  lane(id: number): Lane | undefined {
    return this.#known.get(id);
  }

  /** A task became ready in this lane. Where its priority is not given, it is taken to be that of the lane's last task. */
  mark(lane: number, priority = this.#lastPriority.get(lane) ?? 0): void {
    this.#put(lane, priority);
    // A forgotten lane is learned again by the scan.
    if (!this.#known.has(lane)) this.hint();
    else if (this.#ready.has(lane)) this.waiters.wake(lane);
  }

  /** Another process reports a ready task in this lane. The scan reads a lane that was never seen: its name is not known yet. */
  report(lane: number): void {
    if (this.#known.has(lane)) return this.mark(lane);
    if (this.#reported.size < MAX_REPORTED) this.#reported.add(lane);
    this.hint();
  }

  /**
   * A task is about to become ready in this lane. Waiting claims look in the same turn of the loop. A store that commits once
   * per turn then pays one commit instead of two between a push and its start (1.1 → 0.5 ms). A claim that finds nothing looks
   * again when the lane is marked.
   */
  expect(lane: number, priority: number): void {
    if (this.waiters.awaited) this.mark(lane, priority);
  }

  /** Anything may have changed: the next claim scans first. */
  hint(): void {
    this.#scannedAt = Number.NEGATIVE_INFINITY;
    this.waiters.lookForAll();
  }

  pause(queue: string, paused: boolean): void {
    this.#pauseChanges++;
    if (paused) this.#markPaused(queue);
    else if (this.#pausedQueues.delete(queue)) this.hint();
  }

  #markPaused(queue: string): void {
    if (this.#pausedQueues.has(queue)) return;
    this.#pausedQueues.add(queue);
    this.#onPaused(queue);
  }

  /** The last scan is too old to rely on. A scan over very many lanes is repeated less often. */
  get stale(): boolean {
    const rest = Math.min(MAX_REST_MS, REST_MS * this.#scanned);
    return this.#now() - this.#scannedAt >= Math.max(this.#scanMs / 2, rest);
  }

  /** The known pauses are too old to rely on: a pause of another process holds within the time of a scan. */
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

  /** The scan that is under way. */
  get scan(): Promise<void> | undefined {
    return this.#scanning;
  }

  /** Whether there is a lane for this claim, among the ready lanes and the blocked ones whose counters have room. */
  knows(wants: (lane: Lane) => boolean): boolean {
    if (this.hasOpen(wants)) return true;
    return !this.#held.unblocked(this.#wanted(wants)).next().done;
  }

  /** Whether this lane has ready tasks that the claim wants, and no limit blocks it. */
  offers(id: number, wants: (lane: Lane) => boolean): boolean {
    const lane = this.#ready.has(id) ? this.#open(id) : undefined;
    return lane !== undefined && wants(lane);
  }

  /** As `knows`, without lanes that a limit blocks: those could be tried for ever. */
  hasOpen(wants: (lane: Lane) => boolean): boolean {
    return this.#oldest(this.#wanted(wants)) !== undefined;
  }

  /**
   * The lanes to ask for a request: those of the highest priority, a share for each fairness key, and within a key the least recently
   * served first. One task in `FLOOR` comes from the lane that has waited longest, whatever its priority, so nothing starves.
   */
  pick(wants: (lane: Lane) => boolean, limit: number, max: number): readonly PickedLane[] {
    const wanted = this.#wanted(wants);
    const owesOldest = this.#sinceOldest >= FLOOR;
    const isPaid = this.#unblock(wanted, owesOldest);
    const picked = this.#ready.share(wanted, limit, max);
    const oldest = owesOldest ? this.#oldest(wanted) : undefined;
    const [first] = picked;
    if (isPaid) this.#sinceOldest = 0;
    if (first !== undefined && oldest !== undefined && this.#priority(oldest.lane) < this.#priority(first.lane)) {
      this.#sinceOldest = 0;
      picked.unshift(oldest);
    }
    for (const { lane } of picked) this.#ready.toBack(lane);
    const at = this.#held.frees;
    return picked.map((pick) => ({ ...pick, at }));
  }

  /**
   * Blocked lanes whose counters have room again, and which are as urgent as those that are ready, are ready too. Where the oldest is owed
   * they come by age, and true is answered if a less urgent one has come before another that way.
   */
  #unblock(wants: (lane: number) => boolean, owesOldest: boolean): boolean {
    if (!this.#held.hasRoom) return false;
    const top = owesOldest ? undefined : this.#ready.top(wants);
    const [urgent] = this.#held.unblocked(wants);
    // Listed first: what becomes ready leaves the blocked ones.
    const unblocked = [...this.#held.unblocked(wants, owesOldest ? 'oldest' : 'urgent')];
    for (const [id, { priority }] of unblocked) {
      if (top !== undefined && priority < top) continue;
      this.#ready.set(this.#known.get(id) as Lane, this.#held.remove(id, true) as KnownLane);
    }
    const [oldest] = unblocked;
    return owesOldest && oldest !== undefined && urgent !== undefined && oldest[1].priority < urgent[1].priority;
  }

  #priority(lane: number): number {
    return this.#ready.get(lane)?.priority ?? 0;
  }

  /** One task of the lane that was served longest ago. */
  #oldest(wants: (lane: number) => boolean): Omit<PickedLane, 'at'> | undefined {
    for (const id of this.#ready.ids()) {
      if (wants(id)) return { lane: id, mark: (this.#ready.get(id) as KnownLane).mark, max: 1 };
    }
    return undefined;
  }

  /**
   * The lane gave less than it was asked for: it is empty, unless it was marked since. The room that it left in its limits is for the
   * next lane that they block.
   */
  empty({ lane, mark }: PickedLane): void {
    if (this.#ready.get(lane)?.mark === mark) this.#ready.delete(lane);
    if (this.#held.entry(lane)?.mark === mark) this.#held.remove(lane, false);
    this.#held.tried(lane);
    let wake = false;
    for (const { counter, weight } of this.#known.get(lane)?.rules?.uses ?? [])
      wake = this.#held.give(counter, weight) || wake;
    if (wake) this.waiters.wake();
  }

  /** The lane got its whole share: lanes that got less come before it next time. */
  servedWhole({ lane }: PickedLane): void {
    this.#ready.toBack(lane);
  }

  /** The lane gave `count` tasks, the last of them with this priority: nothing more urgent is left in it. */
  served(id: number, count: number, priority: number): void {
    this.#lastPriority.set(id, priority);
    this.#held.tried(id);
    const entry = this.#entry(id);
    if (entry !== undefined && priority < entry.priority) this.#set(id, { mark: entry.mark, priority });
    this.#sinceOldest += count;
    const lane = this.#known.get(id);
    if (lane !== undefined) this.#ready.served(lane, count);
  }

  /** The answer of a claim says that a limit blocks the lane. `at`: how much had been given back when that claim was sent. */
  hold({ lane, counter, freesInMs, left }: LaneBlock, { at }: PickedLane): void {
    const entry = this.#ready.get(lane) ?? this.#held.remove(lane, false);
    // Another claim found it empty meanwhile.
    if (entry === undefined) return;
    this.#ready.delete(lane);
    // Another limit blocks it than the one whose room it was trying.
    const wake = this.#held.blockedBy(lane, counter);
    this.#held.add(lane, entry, counter, left, at);
    if (wake) this.waiters.wake();
    if (freesInMs === undefined) return;
    const weight = this.#need(lane, counter);
    this.#world.timers.after(Math.max(1, freesInMs), () => this.freed([{ counter, weight }]), { unref: true });
  }

  /** This much is about to be given back to the counters: waiting claims look in the same turn, as for a push (`expect`). */
  freeing(counters: Iterable<{ readonly counter: number; readonly weight: number }>): void {
    if (!this.waiters.awaited) return;
    let wake = false;
    for (const { counter, weight } of counters) wake = this.#held.freeing(counter, weight) || wake;
    if (wake) this.waiters.wake();
  }

  /** This much was given back to the counters: lanes that they block may be tried again. */
  freed(counters: Iterable<{ readonly counter: number; readonly weight: number }>): void {
    let wake = false;
    for (const { counter, weight } of counters) wake = this.#held.freed(counter, weight) || wake;
    if (wake) this.waiters.wake();
  }

  #need(lane: number, counter: number): number {
    return this.#known.get(lane)?.rules?.uses.find((use) => use.counter === counter)?.weight ?? 1;
  }

  /** A known lane whose queue is not paused. */
  #open(id: number): Lane | undefined {
    const lane = this.#known.get(id);
    return lane === undefined || this.#pausedQueues.has(lane.queue) ? undefined : lane;
  }

  /** The same question for a number of a lane. */
  #wanted(wants: (lane: Lane) => boolean): (id: number) => boolean {
    return (id) => {
      const lane = this.#open(id);
      return lane !== undefined && wants(lane);
    };
  }

  #entry(lane: number): KnownLane | undefined {
    return this.#ready.get(lane) ?? this.#held.entry(lane);
  }

  /** A lane that is not known has no key yet: the scan finds both. */
  #set(id: number, entry: KnownLane): void {
    const lane = this.#known.get(id);
    if (this.#held.entry(id) !== undefined) this.#held.update(id, entry);
    else if (lane !== undefined) this.#ready.set(lane, entry);
  }

  #put(lane: number, priority: number): void {
    const before = this.#entry(lane);
    const highest = before === undefined ? priority : Math.max(priority, before.priority);
    this.#set(lane, { mark: ++this.#marks, priority: highest });
  }

  /** Reads all queues, not only those of ready lanes: a lane that becomes ready a moment later must find its queue's pause known. */
  async #scanPauses(): Promise<void> {
    const before = this.#pauseChanges;
    const readAt = this.#now();
    const queues = await this.#store.queueList();
    this.#pausesAt = readAt;
    if (this.#pauseChanges !== before) return;
    const paused = new Set(queues.filter((queue) => queue.paused).map(({ name }) => name));
    const resumed = this.#pausedQueues.difference(paused).size > 0;
    for (const queue of paused.difference(this.#pausedQueues)) this.#onPaused(queue);
    this.#pausedQueues = paused;
    if (resumed) this.waiters.wake();
  }

  async #scan(): Promise<void> {
    this.#scannedAt = this.#now();
    const reported = [...this.#reported];
    this.#reported.clear();
    // Together: the first claim of a process waits for them. No lane is put before the pauses are known.
    const [first] = await Promise.all([
      this.#store.laneScan({ after: 0, limit: SCAN_PAGE }),
      this.#scanPauses(),
      this.#learnAll(reported),
    ]);
    let found = 0;
    for (let after = 0; ; ) {
      const page = after === 0 ? first : await this.#store.laneScan({ after, limit: SCAN_PAGE });
      found += page.length;
      await this.#readLanes(page);
      // The claim that scanned may not be the one that can take it.
      for (const { id, priority } of page) if (this.#foundByScan(id, priority)) this.waiters.wake(id);
      const last = page.at(-1);
      if (last === undefined || page.length < SCAN_PAGE) break;
      after = last.id;
    }
    if (await this.#scanCounters()) this.waiters.wake();
    this.#scanned = found;
  }

  /** Reads lanes that were never seen, and lanes with an affinity, whose last server may have changed. The rest of a lane never changes. */
  async #readLanes(page: readonly ReadyLane[]): Promise<void> {
    const changes = (lane: Lane): boolean => lane.rules?.placement.affinity !== undefined;
    const lanes = page.flatMap(({ id }) => {
      const lane = this.#known.get(id);
      return lane === undefined || changes(lane) ? [id] : [];
    });
    await this.#learnAll(lanes);
  }

  async #learnAll(lanes: readonly number[]): Promise<void> {
    if (lanes.length === 0) return;
    for (const lane of await this.#store.laneGet({ lanes })) if (lane !== undefined) this.#addKnown(lane);
  }

  /** Keys of limits may be any text, so the number of lanes has no bound. Lanes with nothing in them are forgotten. */
  #addKnown(lane: Lane): void {
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

  /** A scan knows a lane's priority better than a belief does. True: the lane was not believed to have tasks. */
  #foundByScan(lane: number, priority: number): boolean {
    const entry = this.#entry(lane);
    if (entry === undefined) this.#put(lane, priority);
    else if (entry.priority !== priority) this.#set(lane, { mark: entry.mark, priority });
    return entry === undefined;
  }

  /**
   * Reads the counters that block lanes: another process may have given something back, and its hint may be lost.
   * True: there are such counters.
   */
  async #scanCounters(): Promise<boolean> {
    const { counters } = this.#held;
    if (counters.length === 0) return false;
    const { now, counters: records } = await this.#store.counterGet({ counters });
    for (const [i, counter] of counters.entries()) {
      const record = records[i];
      // How many tasks fit depends on what they take. A lane that tries in vain is blocked again.
      this.#held.setRoom(counter, record === undefined ? 1 : roomOf(record, { counter, weight: 1, cost: 0 }, now));
    }
    return true;
  }
}

type ReadyLanesStore = Pick<Store, 'laneScan' | 'laneGet' | 'queueList' | 'counterGet'>;

/** What a lost hint hid is found within this time: half of it passes until a scan is due, half until a waiter looks. */
export const SCAN_MS = 1000;
const SCAN_PAGE = 1000;
/** More are found by the scan alone. */
const MAX_REPORTED = 200;
export const MAX_KNOWN = 100_000;
/**
 * One lane costs a scan about 8 µs on Postgres; with this much rest per lane, scans take a twentieth of a core. The rest follows from the
 * number of lanes and not from the time that the scan took: a store that hangs for a moment must not leave lost hints unfound for minutes.
 */
const REST_MS = 0.15;
const MAX_REST_MS = 5000;
/** One task in this many comes from the lane that has waited longest. */
export const FLOOR = 16;
