import { roomOf } from '../core/limit.ts';
import type { World } from '../core/world.ts';
import type { Lane, LaneBlock, Store } from '../store/store.ts';
import { FairTurns } from './fair-turns.ts';
import { Wakeups } from './wakeups.ts';

/** A lane that is believed to have ready tasks. */
interface Entry {
  /** How often it was marked: an empty look must not remove a mark that came after it was sent. */
  readonly mark: number;
  /** The highest priority that may be found in it. */
  readonly priority: number;
}

/**
 * The lanes that this process believes to have ready tasks, least lately served first. A belief only decides where to look
 * first. A lane that is missing here is found by the scan, at most `SCAN_MS` later; one that is wrongly here costs one empty
 * look. Lanes that a limit holds back are kept apart, so that they slow nobody, until their limit gives something back.
 */
export class Ring {
  /** Comes when there may be work. */
  readonly signs: Wakeups;
  readonly #store: Pick<Store, 'laneScan' | 'queueList' | 'slotGet'>;
  readonly #world: World;
  readonly #now: () => number;
  readonly #known = new Map<number, Lane>();
  readonly #ready = new Map<number, Entry>();
  /** Of the task that a lane gave last. */
  readonly #lastPriority = new Map<number, number>();
  /** Lane → the slot without room that holds it back. */
  readonly #held = new Map<number, number>();
  /** Slot → the lanes that it holds back, least lately served first. */
  readonly #holding = new Map<number, Set<number>>();
  /** Slot → believed room for lanes that it holds back, whoever wants one of them first. */
  readonly #room = new Map<number, number>();
  /** Slot → when something was last given back to it, by the count of all such times. */
  readonly #freedAt = new Map<number, number>();
  #frees = 0;
  readonly #turns = new FairTurns();
  #pausedQueues = new Set<string>();
  /** Pauses and resumes of this process: a scan that began before one must not undo it. */
  #switched = 0;
  #marks = 0;
  #scannedAt = Number.NEGATIVE_INFINITY;
  /** When what is known of pauses was true. */
  #pausesAt = Number.NEGATIVE_INFINITY;
  #scanning: Promise<void> | undefined;
  /** Tasks granted by priority and turn since the last one that was granted by age. */
  #sinceOldest = 0;

  constructor(store: Pick<Store, 'laneScan' | 'queueList' | 'slotGet'>, world: World) {
    this.#store = store;
    this.#world = world;
    this.#now = world.clock.monotonic;
    this.signs = new Wakeups(world, SCAN_MS);
  }

  learn(lane: Lane): void {
    this.#known.set(lane.id, lane);
    if (lane.paused) this.#pausedQueues.add(lane.queue);
  }

  lane(id: number): Lane | undefined {
    return this.#known.get(id);
  }

  /** Something became ready here; where its priority is not told, it is taken for like the last that was seen there. */
  mark(lane: number, priority = this.#lastPriority.get(lane) ?? 0): void {
    this.#put(lane, priority);
    if (!this.#held.has(lane)) this.signs.wake();
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
    if (this.signs.awaited) this.mark(lane, priority);
  }

  /** Anything may have changed: the next claim scans first. */
  hint(): void {
    this.#scannedAt = Number.NEGATIVE_INFINITY;
    this.signs.wake();
  }

  pause(queue: string, paused: boolean): void {
    this.#switched++;
    if (paused) this.#pausedQueues.add(queue);
    else if (this.#pausedQueues.delete(queue)) this.hint();
  }

  /** The last scan is too old to go by. */
  get stale(): boolean {
    return this.#now() - this.#scannedAt >= SCAN_MS / 2;
  }

  /** What is known of pauses is too old to go by: those of other processes hold within a second. */
  get outdated(): boolean {
    return this.#now() - this.#pausesAt >= SCAN_MS;
  }

  async refresh(): Promise<void> {
    if (!this.stale && !this.outdated) return;
    this.#scanning ??= this.#scan().finally(() => {
      this.#scanning = undefined;
    });
    await this.#scanning;
  }

  /** Whether there is a lane to serve for this request. */
  knows(wants: (lane: Lane) => boolean): boolean {
    return this.hasOpen(wants) || this.#let(wants).length > 0;
  }

  /** The same, but for lanes that a limit holds back: those may be tried for ever. */
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
  pick(wants: (lane: Lane) => boolean, limit: number, max: number): readonly Pickup[] {
    const open: Choice[] = [];
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
      this.#release(lane);
      this.#toBack(lane);
    }
    const at = this.#frees;
    return picked.map((pick) => ({ ...pick, at }));
  }

  /**
   * The lane gave less than it was asked for: it is empty, unless it was marked since. What it left of its limits is for the
   * next lane that they hold back.
   */
  empty({ lane, mark }: Pickup): void {
    if (this.#ready.get(lane)?.mark === mark) this.#ready.delete(lane);
    let some = false;
    for (const { slot, weight } of this.#known.get(lane)?.rules?.uses ?? []) some = this.#give(slot, weight) || some;
    if (some) this.signs.wake();
  }

  /** The lane had a whole share: those that had less come before it next time. */
  last({ lane }: Pickup): void {
    this.#toBack(lane);
  }

  /** It gave so many tasks, of which the last had this priority: nothing more urgent is left. */
  served(id: number, count: number, priority: number): void {
    this.#lastPriority.set(id, priority);
    const entry = this.#ready.get(id);
    if (entry !== undefined && priority < entry.priority) this.#ready.set(id, { mark: entry.mark, priority });
    this.#sinceOldest += count;
    const lane = this.#known.get(id);
    if (lane !== undefined) this.#turns.served(lane, count);
  }

  /** A limit holds the lane back, as a claim heard that was sent when it was picked. */
  hold({ lane, slot, freesInMs, left }: LaneBlock, { at }: Pickup): void {
    this.#held.set(lane, slot);
    const others = this.#holding.get(slot);
    if (others === undefined) this.#holding.set(slot, new Set([lane]));
    else others.add(lane);
    // What was given back after the claim had looked is there still.
    if ((this.#freedAt.get(slot) ?? 0) <= at) {
      if (left > 0) this.#room.set(slot, left);
      else this.#room.delete(slot);
    }
    if (freesInMs === undefined) return;
    const weight = this.#need(lane, slot);
    this.#world.timers.after(Math.max(1, freesInMs), () => this.freed([{ slot, weight }]), { unref: true });
  }

  /** So much was given back to these slots: lanes that they hold back may try. */
  freed(slots: Iterable<{ readonly slot: number; readonly weight: number }>): void {
    let some = false;
    for (const { slot, weight } of slots) {
      this.#freedAt.set(slot, ++this.#frees);
      some = this.#give(slot, weight) || some;
    }
    if (some) this.signs.wake();
  }

  #need(lane: number, slot: number): number {
    return this.#known.get(lane)?.rules?.uses.find((use) => use.slot === slot)?.weight ?? 1;
  }

  /** Lanes that are held back by slots with room, no more of each than there is room for. */
  #let(wants: (lane: Lane) => boolean): readonly Choice[] {
    const found: Choice[] = [];
    for (const [slot, room] of this.#room) {
      let left = room;
      for (const id of this.#holding.get(slot) ?? []) {
        const lane = this.#known.get(id);
        const entry = this.#ready.get(id);
        if (lane === undefined || entry === undefined || this.#pausedQueues.has(lane.queue) || !wants(lane)) continue;
        const need = this.#need(id, slot);
        // One that needs more than there is would try in vain, and keep a lighter one from trying.
        if (need > left) continue;
        found.push({ lane, ...entry });
        left -= need;
        if (left <= 0) break;
      }
    }
    return found;
  }

  /** There is more room, if the slot holds anybody back. */
  #give(slot: number, weight: number): boolean {
    if (!this.#holding.has(slot)) return false;
    this.#room.set(slot, (this.#room.get(slot) ?? 0) + weight);
    return true;
  }

  /** The lane is tried: it is held back no longer, and uses some of the room. */
  #release(lane: number): void {
    const slot = this.#held.get(lane);
    if (slot === undefined) return;
    this.#held.delete(lane);
    const others = this.#holding.get(slot);
    others?.delete(lane);
    if (others?.size === 0) this.#holding.delete(slot);
    const room = (this.#room.get(slot) ?? 0) - this.#need(lane, slot);
    if (room > 0 && this.#holding.has(slot)) this.#room.set(slot, room);
    else this.#room.delete(slot);
  }

  /** Believed to be ready, served by nobody's pause and held back by no limit. */
  #open(id: number): Lane | undefined {
    if (this.#held.has(id)) return undefined;
    const lane = this.#known.get(id);
    return lane === undefined || this.#pausedQueues.has(lane.queue) ? undefined : lane;
  }

  #put(lane: number, priority: number): void {
    const before = this.#ready.get(lane);
    const highest = before === undefined ? priority : Math.max(priority, before.priority);
    this.#ready.set(lane, { mark: ++this.#marks, priority: highest });
  }

  /** What a scan saw of a lane's priorities is better than what was believed. */
  #correct(lane: number, priority: number): void {
    const entry = this.#ready.get(lane);
    if (entry !== undefined && entry.priority !== priority) this.#ready.set(lane, { mark: entry.mark, priority });
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
    this.#pausedQueues = new Set(queues.filter(({ paused }) => paused).map(({ name }) => name));
  }

  async #scan(): Promise<void> {
    this.#scannedAt = this.#now();
    await this.#scanPauses();
    for (let after = 0; ; ) {
      const page = await this.#store.laneScan({ after, limit: SCAN_PAGE });
      for (const { priority, ...lane } of page) {
        this.#known.set(lane.id, lane);
        if (!this.#ready.has(lane.id)) this.#put(lane.id, priority);
        else this.#correct(lane.id, priority);
      }
      const last = page.at(-1);
      if (last === undefined || page.length < SCAN_PAGE) break;
      after = last.id;
    }
    await this.#scanSlots();
  }

  /** A slot may have been freed by a process whose hint was lost. */
  async #scanSlots(): Promise<void> {
    const slots = [...this.#holding.keys()];
    if (slots.length === 0) return;
    const { now, slots: records } = await this.#store.slotGet({ slots });
    for (const [i, slot] of slots.entries()) {
      const record = records[i];
      // For how many tasks there is room depends on what they take; who tries in vain is held back again.
      const room = record === undefined ? 1 : roomOf(record, { slot, weight: 1, cost: 0 }, now);
      if (room > 0) this.#room.set(slot, room);
    }
  }
}

/** A lane that could be served. */
export interface Choice {
  readonly lane: Lane;
  readonly mark: number;
  readonly priority: number;
}

/** A lane as it was picked. */
export interface Pickup {
  readonly lane: number;
  readonly mark: number;
  /** What it is asked for. */
  readonly max: number;
  /** How many times something had been given back to a slot by then. */
  readonly at: number;
}

/** What a lost hint hid is found within this time: half of it until a scan is due, half until a waiter looks. */
export const SCAN_MS = 1000;
const SCAN_PAGE = 1000;
/** One task in so many goes to the lane that has waited longest. */
export const FLOOR = 16;
