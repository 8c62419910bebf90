import type { World } from '../../core/world.ts';

/** Lanes that a worker skips for a moment: a better worker comes first there, or it has enough of their tasks. */
export class SkippedLanes {
  readonly #world: World;
  readonly #onExpired: () => void;
  /** Worker → lane → end of the skip, in monotonic time. */
  readonly #skipped = new Map<number, Map<number, number>>();

  constructor(world: World, onExpired: () => void) {
    this.#world = world;
    this.#onExpired = onExpired;
  }

  skip(worker: number, lane: number, forMs: number): void {
    const lanes = this.#skipped.get(worker) ?? new Map<number, number>();
    this.#skipped.set(worker, lanes.set(lane, this.#world.clock.monotonic() + forMs));
    this.#world.timers.after(Math.ceil(forMs), () => this.#expire(worker, lane), { unref: true });
  }

  skips(worker: number, lane: number): boolean {
    const until = this.#skipped.get(worker)?.get(lane);
    return until !== undefined && this.#world.clock.monotonic() < until;
  }

  #expire(worker: number, lane: number): void {
    if (this.skips(worker, lane)) return;
    const lanes = this.#skipped.get(worker);
    lanes?.delete(lane);
    if (lanes?.size === 0) this.#skipped.delete(worker);
    this.#onExpired();
  }
}
