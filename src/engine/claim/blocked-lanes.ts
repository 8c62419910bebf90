/** A lane that is believed to have ready tasks. */
export interface KnownLane {
  /** Grows with every mark: an empty look must not remove a mark that came after the look was sent. */
  readonly mark: number;
  /** The highest priority that may be found in it. */
  readonly priority: number;
}

interface Blocked {
  readonly counter: number;
  entry: KnownLane;
}

/**
 * Lanes that a limit blocks, kept apart so that they slow down no claim (of 10,000 lanes, 9,000 may be here). They are tried again when the
 * counter that had no room has some, and only as many at once as there is room for.
 */
export class BlockedLanes {
  /** What one task of this lane takes from this counter. */
  readonly #need: (lane: number, counter: number) => number;
  readonly #lanes = new Map<number, Blocked>();
  /** Counter → the lanes that it blocks. */
  readonly #byCounter = new Map<number, LanesByPriority>();
  /** Counter → believed room for the lanes that it blocks. */
  readonly #room = new Map<number, number>();
  /** Lane → the counter whose room it is trying. */
  readonly #trying = new Map<number, number>();
  /** Counter → when something was last given back to it, as a value of `#frees`. */
  readonly #freedAt = new Map<number, number>();
  #frees = 0;
  /** Counter → room that was announced before it was given back. The claims that were woken for it have not come back yet. */
  readonly #announced = new Map<number, number>();

  constructor(need: (lane: number, counter: number) => number) {
    this.#need = need;
  }

  /** How often something was given back so far. */
  get frees(): number {
    return this.#frees;
  }

  /** Whether a counter is believed to have room for a lane that it blocks. */
  get hasRoom(): boolean {
    return this.#room.size > 0;
  }

  get counters(): readonly number[] {
    return [...this.#byCounter.keys()];
  }

  entry(lane: number): KnownLane | undefined {
    return this.#lanes.get(lane)?.entry;
  }

  update(lane: number, entry: KnownLane): void {
    const held = this.#lanes.get(lane);
    if (held === undefined) return;
    if (held.entry.priority !== entry.priority) {
      const others = this.#byCounter.get(held.counter) as LanesByPriority;
      others.delete(lane, held.entry.priority);
      others.add(lane, entry.priority);
    }
    held.entry = entry;
  }

  /** `left`: the room that a claim saw. `at`: the value of `frees` when that claim was sent. */
  add(lane: number, entry: KnownLane, counter: number, left: number, at: number): void {
    this.#lanes.set(lane, { counter, entry });
    const others = this.#byCounter.get(counter) ?? new LanesByPriority();
    this.#byCounter.set(counter, others);
    others.add(lane, entry.priority);
    // The claim may have looked too early: what is given back now is announced again.
    this.#announced.delete(counter);
    // Room that was given back after the claim looked is still there.
    if ((this.#freedAt.get(counter) ?? 0) > at) return;
    if (left > 0) this.#room.set(counter, left);
    else this.#room.delete(counter);
  }

  /** The lane is no longer blocked: it is tried and uses some of the room (`tried`), or it has no tasks any more. */
  remove(lane: number, tried: boolean): KnownLane | undefined {
    const held = this.#lanes.get(lane);
    if (held === undefined) return undefined;
    const { counter, entry } = held;
    this.#lanes.delete(lane);
    const others = this.#byCounter.get(counter);
    others?.delete(lane, entry.priority);
    if (others?.isEmpty === true) this.#byCounter.delete(counter);
    if (tried) this.#trying.set(lane, counter);
    const room = (this.#room.get(counter) ?? 0) - (tried ? this.#need(lane, counter) : 0);
    if (room > 0 && this.#byCounter.has(counter)) this.#room.set(counter, room);
    else this.#room.delete(counter);
    return entry;
  }

  /** The lane has used the room that it was trying, or what it left is known. */
  tried(lane: number): void {
    this.#trying.delete(lane);
  }

  /** The lane is blocked by this counter. What it was trying of another one is for the next lane there. True if there is one. */
  blockedBy(lane: number, counter: number): boolean {
    const tried = this.#trying.get(lane);
    this.#trying.delete(lane);
    return tried !== undefined && tried !== counter && this.give(tried, this.#need(lane, tried));
  }

  /** This much is about to be given back. True if the counter blocks a lane. */
  freeing(counter: number, weight: number): boolean {
    if (!this.give(counter, weight)) return false;
    this.#announced.set(counter, (this.#announced.get(counter) ?? 0) + weight);
    return true;
  }

  /** This much was given back to the counter. True if it blocks a lane and the room was not announced before. */
  freed(counter: number, weight: number): boolean {
    const announced = this.#announced.get(counter) ?? 0;
    if (announced >= weight) {
      if (announced > weight) this.#announced.set(counter, announced - weight);
      else this.#announced.delete(counter);
      return false;
    }
    this.#freedAt.set(counter, ++this.#frees);
    return this.give(counter, weight);
  }

  /** There is more room than was believed. */
  give(counter: number, weight: number): boolean {
    if (!this.#byCounter.has(counter)) return false;
    this.#room.set(counter, (this.#room.get(counter) ?? 0) + weight);
    return true;
  }

  /** Sets the room that a read of the counter showed. */
  setRoom(counter: number, room: number): void {
    if (room > 0 && this.#byCounter.has(counter)) this.#room.set(counter, room);
  }

  /**
   * Blocked lanes whose counters have room, as far as the room goes: the most urgent ones first, or those that were served longest ago
   * whatever their priority.
   */
  *unblocked(
    wants: (lane: number) => boolean,
    first: 'urgent' | 'oldest' = 'urgent',
  ): Generator<readonly [number, KnownLane]> {
    for (const [counter, room] of this.#room) {
      let left = room;
      const lanes = this.#byCounter.get(counter);
      for (const lane of (first === 'urgent' ? lanes?.urgent() : lanes?.oldest()) ?? []) {
        if (!wants(lane)) continue;
        const need = this.#need(lane, counter);
        // A lane that needs more than there is would try in vain, and keep a lighter one from trying.
        if (need > left) continue;
        yield [lane, (this.#lanes.get(lane) as Blocked).entry];
        left -= need;
        if (left <= 0) break;
      }
    }
  }
}

/** The lanes that one counter blocks. */
class LanesByPriority {
  /** Least recently served first. */
  readonly #all = new Set<number>();
  /** The highest first, each as above. */
  readonly #levels: { readonly priority: number; readonly lanes: Set<number> }[] = [];

  get isEmpty(): boolean {
    return this.#all.size === 0;
  }

  add(lane: number, priority: number): void {
    this.#all.add(lane);
    const at = this.#placeOf(priority);
    const level = this.#levels[at];
    if (level?.priority === priority) level.lanes.add(lane);
    else this.#levels.splice(at, 0, { priority, lanes: new Set([lane]) });
  }

  delete(lane: number, priority: number): void {
    this.#all.delete(lane);
    const at = this.#placeOf(priority);
    const level = this.#levels[at];
    if (level?.priority !== priority) return;
    level.lanes.delete(lane);
    if (level.lanes.size === 0) this.#levels.splice(at, 1);
  }

  *urgent(): Generator<number> {
    for (const { lanes } of this.#levels) yield* lanes;
  }

  oldest(): Iterable<number> {
    return this.#all;
  }

  /** Where this priority is, or belongs. By halves: each lane may have a priority of its own. */
  #placeOf(priority: number): number {
    let [from, to] = [0, this.#levels.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if ((this.#levels[middle]?.priority as number) > priority) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}
