import type { Clock } from '../../core/world.ts';

/** A place in the order of a lane. */
export interface LaneCursor {
  readonly prio: number;
  readonly id: number;
}

const BOTTOM: LaneCursor = { prio: -32_768, id: 0 };
/** A claim from the bottom that takes longer than this has met old index entries. */
const SLOW_MS = 8;
const KEPT_MS = 1000;

/**
 * While an old transaction is open, Postgres keeps the index entries of tasks that were claimed long ago, and every
 * claim steps over all of them: 38 k tasks a second became 9 k after 160,000 tasks. So a store remembers a cursor for
 * each lane and begins there.
 *
 * A cursor may hide what others made ready below it. It is used only while a claim from the bottom is slow, dropped
 * after a second and by every hint, and lowered by tasks that this process itself makes ready.
 */
export class LaneCursors {
  readonly #clock: Clock;
  readonly #cursors = new Map<number, LaneCursor>();
  #until = 0;
  #active = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Where to begin in this lane. */
  of(lane: number): LaneCursor {
    if (this.#clock.monotonic() >= this.#until) this.drop();
    return (this.#active ? this.#cursors.get(lane) : undefined) ?? BOTTOM;
  }

  /** A claim came as far as this. */
  came(lane: number, cursor: LaneCursor): void {
    this.#cursors.set(lane, cursor);
  }

  /** How long a claim took that began at the bottom. */
  took(ms: number): void {
    this.#active = ms > SLOW_MS;
    this.#until = this.#clock.monotonic() + KEPT_MS;
  }

  /** A task became ready at this place: the cursor must not hide it. */
  lower(lane: number, cursor: LaneCursor): void {
    const kept = this.#cursors.get(lane);
    if (kept !== undefined && (cursor.prio < kept.prio || (cursor.prio === kept.prio && cursor.id < kept.id))) {
      this.#cursors.set(lane, cursor);
    }
  }

  /** Anything may be ready in these lanes, or anywhere. */
  drop(lanes?: readonly number[]): void {
    if (lanes !== undefined) {
      for (const lane of lanes) this.#cursors.delete(lane);
      return;
    }
    this.#cursors.clear();
    this.#active = false;
  }
}
