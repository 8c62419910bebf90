import type { Clock } from '../../core/world.ts';

/** A place in the order of a lane. */
export interface Mark {
  readonly prio: number;
  readonly id: number;
}

const BOTTOM: Mark = { prio: -32_768, id: 0 };
/** A claim that looks from the bottom and takes longer than this has met something in its way. */
const SLOW_MS = 8;
const KEPT_MS = 1000;

/**
 * While an old transaction is open, Postgres keeps the index entries of tasks that were claimed long ago, and every claim
 * steps over all of them again: 38 k tasks a second became 9 k after 160,000 tasks. So a store remembers how far it has
 * come in each lane, and begins there.
 *
 * A mark may hide what others made ready below it, so it is used only while a look from the bottom is slow, dropped after a
 * second and by every hint, and lowered by whatever this process itself makes ready.
 */
export class Marks {
  readonly #clock: Clock;
  readonly #marks = new Map<number, Mark>();
  #until = 0;
  #active = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Where to begin in this lane. */
  of(lane: number): Mark {
    if (this.#clock.monotonic() >= this.#until) this.drop();
    return (this.#active ? this.#marks.get(lane) : undefined) ?? BOTTOM;
  }

  /** A claim came as far as this. */
  came(lane: number, mark: Mark): void {
    this.#marks.set(lane, mark);
  }

  /** How long a claim took that began at the bottom. */
  took(ms: number): void {
    this.#active = ms > SLOW_MS;
    this.#until = this.#clock.monotonic() + KEPT_MS;
  }

  /** Something became ready there: the marks must not hide it. */
  lower(lane: number, mark: Mark): void {
    const kept = this.#marks.get(lane);
    if (kept !== undefined && (mark.prio < kept.prio || (mark.prio === kept.prio && mark.id < kept.id))) {
      this.#marks.set(lane, mark);
    }
  }

  /** Anything may be ready in these lanes, or anywhere. */
  drop(lanes?: readonly number[]): void {
    if (lanes !== undefined) {
      for (const lane of lanes) this.#marks.delete(lane);
      return;
    }
    this.#marks.clear();
    this.#active = false;
  }
}
