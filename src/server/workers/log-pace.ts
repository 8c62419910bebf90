/** What one connection may log on average, in UTF-16 units per ms: 4 MiB a second, where an attempt keeps 10 MiB in all by default. */
const UNITS_PER_MS = 4096;
/** So much of it at once, after a while of less. */
const BURST_MS = 256;

/**
 * How fast the logs of one connection are taken. Who writes without end has its socket paused instead of everybody's turns: with one
 * at 16 MB/s tasks of the others took 25 ms to start and not 9.
 */
export class LogPace {
  readonly #now: () => number;
  /** By when all that was taken would have been, at this pace. */
  #until = Number.NEGATIVE_INFINITY;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** How long the next ones have to wait. */
  get waitMs(): number {
    return Math.max(0, this.#until - BURST_MS - this.#now());
  }

  took(units: number): void {
    this.#until = Math.max(this.#until, this.#now()) + units / UNITS_PER_MS;
  }
}
