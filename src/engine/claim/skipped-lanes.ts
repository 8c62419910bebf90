import type { World } from '../../core/world.ts';

/** Lanes that a worker skips for a moment: a better worker comes first there, or it has enough of their tasks. */
export class SkippedLanes {
  readonly #world: World;
  readonly #onOver: () => void;
  /** Worker → lane → end of the skip, in monotonic time. */
  readonly #kept = new Map<number, Map<number, number>>();

  constructor(world: World, onOver: () => void) {
    this.#world = world;
    this.#onOver = onOver;
  }

  keep(worker: number, lane: number, forMs: number): void {
    const lanes = this.#kept.get(worker) ?? new Map<number, number>();
    this.#kept.set(worker, lanes.set(lane, this.#world.clock.monotonic() + forMs));
    this.#world.timers.after(Math.ceil(forMs), () => this.#over(worker, lane), { unref: true });
  }

  keeps(worker: number, lane: number): boolean {
    const until = this.#kept.get(worker)?.get(lane);
    return until !== undefined && this.#world.clock.monotonic() < until;
  }

  #over(worker: number, lane: number): void {
    if (this.keeps(worker, lane)) return;
    const lanes = this.#kept.get(worker);
    lanes?.delete(lane);
    if (lanes?.size === 0) this.#kept.delete(worker);
    this.#onOver();
  }
}
