/** A lane that is believed to have ready tasks. */
export interface KnownLane {
  /** How often it was marked: an empty look must not remove a mark that came after it was sent. */
  readonly mark: number;
  /** The highest priority that may be found in it. */
  readonly priority: number;
}

interface Held {
  readonly slot: number;
  entry: KnownLane;
}

/**
 * Lanes that a limit holds back, apart from the others, so that they slow nobody (of 10,000 lanes, 9,000 may stand here). They
 * are let in again when the slot that was without room has some, no more of them at once than there is room for.
 */
export class HeldLanes {
  /** What a task of this lane takes of this slot. */
  readonly #need: (lane: number, slot: number) => number;
  readonly #lanes = new Map<number, Held>();
  /** Slot → the lanes that it holds back, least lately served first. */
  readonly #bySlot = new Map<number, Set<number>>();
  /** Slot → believed room for lanes that it holds back, whoever wants one of them first. */
  readonly #room = new Map<number, number>();
  /** Slot → when something was last given back to it, by the count of all such times. */
  readonly #freedAt = new Map<number, number>();
  #frees = 0;
  /** Slot → what was told as room before it was given back; who was sent for it has not come back yet. */
  readonly #early = new Map<number, number>();

  constructor(need: (lane: number, slot: number) => number) {
    this.#need = need;
  }

  /** How many times something was given back so far. */
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

  /** `left` is the room that was seen by a claim which was sent at `at`, by the count of frees. */
  add(lane: number, entry: KnownLane, slot: number, left: number, at: number): void {
    this.#lanes.set(lane, { slot, entry });
    const others = this.#bySlot.get(slot);
    if (others === undefined) this.#bySlot.set(slot, new Set([lane]));
    else others.add(lane);
    // It may have looked too early: what comes now is told again.
    this.#early.delete(slot);
    // What was given back after the claim had looked is there still.
    if ((this.#freedAt.get(slot) ?? 0) > at) return;
    if (left > 0) this.#room.set(slot, left);
    else this.#room.delete(slot);
  }

  /** The lane is held back no longer: it is tried, and uses some of the room, or it has nothing any more. */
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

  /** So much is about to be given back. True if it holds anybody back. */
  freeing(slot: number, weight: number): boolean {
    if (!this.give(slot, weight)) return false;
    this.#early.set(slot, (this.#early.get(slot) ?? 0) + weight);
    return true;
  }

  /** So much was given back to this slot. True if it holds anybody back, who has not been told before. */
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

  /** What a look at the slot itself showed. */
  look(slot: number, room: number): void {
    if (room > 0 && this.#bySlot.has(slot)) this.#room.set(slot, room);
  }

  /** Lanes of slots with room, as far as it goes. */
  *let(wants: (lane: number) => boolean): Generator<readonly [number, KnownLane]> {
    for (const [slot, room] of this.#room) {
      let left = room;
      for (const lane of this.#bySlot.get(slot) ?? []) {
        if (!wants(lane)) continue;
        const need = this.#need(lane, slot);
        // One that needs more than there is would try in vain, and keep a lighter one from trying.
        if (need > left) continue;
        yield [lane, (this.#lanes.get(lane) as Held).entry];
        left -= need;
        if (left <= 0) break;
      }
    }
  }
}
