/** A lane that is believed to have ready tasks. */
export interface KnownLane {
  /** How often it was marked: an empty look must not remove a mark that came after it was sent. */
  readonly mark: number;
  /** The highest priority that may be found in it. */
  readonly priority: number;
}

interface Held {
  readonly counter: number;
  entry: KnownLane;
}

/**
 * Lanes that a limit holds back, apart from the others, so that they slow nobody (of 10,000 lanes, 9,000 may stand here). They
 * are let in again when the counter that was without room has some, no more of them at once than there is room for.
 */
export class HeldLanes {
  /** What a task of this lane takes of this counter. */
  readonly #need: (lane: number, counter: number) => number;
  readonly #lanes = new Map<number, Held>();
  /** Counter → the lanes that it holds back, least lately served first. */
  readonly #byCounter = new Map<number, Set<number>>();
  /** Counter → believed room for lanes that it holds back, whoever wants one of them first. */
  readonly #room = new Map<number, number>();
  /** Counter → when something was last given back to it, by the count of all such times. */
  readonly #freedAt = new Map<number, number>();
  #frees = 0;
  /** Counter → what was told as room before it was given back; who was sent for it has not come back yet. */
  readonly #early = new Map<number, number>();

  constructor(need: (lane: number, counter: number) => number) {
    this.#need = need;
  }

  /** How many times something was given back so far. */
  get frees(): number {
    return this.#frees;
  }

  get counters(): readonly number[] {
    return [...this.#byCounter.keys()];
  }

  entry(lane: number): KnownLane | undefined {
    return this.#lanes.get(lane)?.entry;
  }

  update(lane: number, entry: KnownLane): void {
    const held = this.#lanes.get(lane);
    if (held !== undefined) held.entry = entry;
  }

  /** `left` is the room that was seen by a claim which was sent at `at`, by the count of frees. */
  add(lane: number, entry: KnownLane, counter: number, left: number, at: number): void {
    this.#lanes.set(lane, { counter, entry });
    const others = this.#byCounter.get(counter);
    if (others === undefined) this.#byCounter.set(counter, new Set([lane]));
    else others.add(lane);
    // It may have looked too early: what comes now is told again.
    this.#early.delete(counter);
    // What was given back after the claim had looked is there still.
    if ((this.#freedAt.get(counter) ?? 0) > at) return;
    if (left > 0) this.#room.set(counter, left);
    else this.#room.delete(counter);
  }

  /** The lane is held back no longer: it is tried, and uses some of the room, or it has nothing any more. */
  remove(lane: number, tried: boolean): KnownLane | undefined {
    const held = this.#lanes.get(lane);
    if (held === undefined) return undefined;
    const { counter, entry } = held;
    this.#lanes.delete(lane);
    const others = this.#byCounter.get(counter);
    others?.delete(lane);
    if (others?.size === 0) this.#byCounter.delete(counter);
    const room = (this.#room.get(counter) ?? 0) - (tried ? this.#need(lane, counter) : 0);
    if (room > 0 && this.#byCounter.has(counter)) this.#room.set(counter, room);
    else this.#room.delete(counter);
    return entry;
  }

  /** So much is about to be given back. True if it holds anybody back. */
  freeing(counter: number, weight: number): boolean {
    if (!this.give(counter, weight)) return false;
    this.#early.set(counter, (this.#early.get(counter) ?? 0) + weight);
    return true;
  }

  /** So much was given back to this counter. True if it holds anybody back, who has not been told before. */
  freed(counter: number, weight: number): boolean {
    const told = this.#early.get(counter) ?? 0;
    if (told >= weight) {
      if (told > weight) this.#early.set(counter, told - weight);
      else this.#early.delete(counter);
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

  /** What a look at the counter itself showed. */
  look(counter: number, room: number): void {
    if (room > 0 && this.#byCounter.has(counter)) this.#room.set(counter, room);
  }

  /** Lanes of counters with room, as far as it goes. */
  *let(wants: (lane: number) => boolean): Generator<readonly [number, KnownLane]> {
    for (const [counter, room] of this.#room) {
      let left = room;
      for (const lane of this.#byCounter.get(counter) ?? []) {
        if (!wants(lane)) continue;
        const need = this.#need(lane, counter);
        // One that needs more than there is would try in vain, and keep a lighter one from trying.
        if (need > left) continue;
        yield [lane, (this.#lanes.get(lane) as Held).entry];
        left -= need;
        if (left <= 0) break;
      }
    }
  }
}
