/** A lane that is believed to have ready tasks. */
export interface KnownLane {
  /** Grows with every mark: an empty look must not remove a mark that came after the look was sent. */
  readonly mark: number;
  /** The highest priority that may be found in it. */
  readonly priority: number;
}

interface Held {
  readonly slot: number;
  entry: KnownLane;
}

/**
 * Lanes that a limit blocks, kept apart so that they slow down no claim (of 10,000 lanes, 9,000 may be here). They are tried again when the
 * counter that had no room has some, and only as many at once as there is room for.
 */
export class HeldLanes {
  /** What one task of this lane takes from this counter. */
  readonly #need: (lane: number, slot: number) => number;
  readonly #lanes = new Map<number, Held>();
  /** Counter → the lanes that it blocks, least recently served first. */
  readonly #bySlot = new Map<number, Set<number>>();
  /** Counter → believed room for the lanes that it blocks. */
  readonly #room = new Map<number, number>();
  /** Counter → when something was last given back to it, as a value of `#frees`. */
  readonly #freedAt = new Map<number, number>();
  #frees = 0;
  /** Counter → room that was announced before it was given back. The claims that were woken for it have not come back yet. */
  readonly #early = new Map<number, number>();

  constructor(need: (lane: number, slot: number) => number) {
    this.#need = need;
  }

  /** How often something was given back so far. */
  get frees(): number {
    return this.#frees;
  }

  get slots(): readonly number[] {
    return [...this.#bySlot.keys()];
  }

  entry(lane: number): KnownLane | undefined {
    return this.#lanes.get(lane)?.entry;
  }

  update(lane: number, entry: KnownLane): void {
    const held = this.#lanes.get(lane);
    if (held !== undefined) held.entry = entry;
  }

  /** `left`: the room that a claim saw. `at`: the value of `frees` when that claim was sent. */
  add(lane: number, entry: KnownLane, slot: number, left: number, at: number): void {
    this.#lanes.set(lane, { slot, entry });
    const others = this.#bySlot.get(slot);
    if (others === undefined) this.#bySlot.set(slot, new Set([lane]));
    else others.add(lane);
    // The claim may have looked too early: what is given back now is announced again.
    this.#early.delete(slot);
    // Room that was given back after the claim looked is still there.
    if ((this.#freedAt.get(slot) ?? 0) > at) return;
    if (left > 0) this.#room.set(slot, left);
    else this.#room.delete(slot);
  }

  /** The lane is no longer blocked: it is tried and uses some of the room (`tried`), or it has no tasks any more. */
  remove(lane: number, tried: boolean): KnownLane | undefined {
    const held = this.#lanes.get(lane);
    if (held === undefined) return undefined;
    const { slot, entry } = held;
    this.#lanes.delete(lane);
    const others = this.#bySlot.get(slot);
    others?.delete(lane);
    if (others?.size === 0) this.#bySlot.delete(slot);
    const room = (this.#room.get(slot) ?? 0) - (tried ? this.#need(lane, slot) : 0);
    if (room > 0 && this.#bySlot.has(slot)) this.#room.set(slot, room);
    else this.#room.delete(slot);
    return entry;
  }

  /** This much is about to be given back. True if the counter blocks a lane. */
  freeing(slot: number, weight: number): boolean {
    if (!this.give(slot, weight)) return false;
    this.#early.set(slot, (this.#early.get(slot) ?? 0) + weight);
    return true;
  }

  /** This much was given back to the counter. True if it blocks a lane and the room was not announced before. */
  freed(slot: number, weight: number): boolean {
    const told = this.#early.get(slot) ?? 0;
    if (told >= weight) {
      if (told > weight) this.#early.set(slot, told - weight);
      else this.#early.delete(slot);
      return false;
    }
    this.#freedAt.set(slot, ++this.#frees);
    return this.give(slot, weight);
  }

  /** There is more room than was believed. */
  give(slot: number, weight: number): boolean {
    if (!this.#bySlot.has(slot)) return false;
    this.#room.set(slot, (this.#room.get(slot) ?? 0) + weight);
    return true;
  }

  /** Sets the room that a read of the counter showed. */
  look(slot: number, room: number): void {
    if (room > 0 && this.#bySlot.has(slot)) this.#room.set(slot, room);
  }

  /** Blocked lanes whose counters have room, as far as the room goes. */
  *let(wants: (lane: number) => boolean): Generator<readonly [number, KnownLane]> {
    for (const [slot, room] of this.#room) {
      let left = room;
      for (const lane of this.#bySlot.get(slot) ?? []) {
        if (!wants(lane)) continue;
        const need = this.#need(lane, slot);
        // A lane that needs more than there is would try in vain, and keep a lighter one from trying.
        if (need > left) continue;
        yield [lane, (this.#lanes.get(lane) as Held).entry];
        left -= need;
        if (left <= 0) break;
      }
    }
  }
}
