/** The average log rate of one connection, in UTF-16 units per ms: 4 MiB a second. By default an attempt keeps 10 MiB in all. */
const UNITS_PER_MS = 4096;
/** The burst, in ms of the rate. */
const BURST_MS = 256;

/**
 * Paces the logs of one connection. A worker that writes without end has its socket paused instead of the event loop of
 * everybody: with one at 16 MB/s tasks of others took 25 ms to start instead of 9.
 */
export class LogPace {
  readonly #now: () => number;
  /** When everything that was taken would have arrived at this pace. */
  #until = Number.NEGATIVE_INFINITY;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** How long the next entries have to wait. */
  get waitMs(): number {
    return Math.max(0, this.#until - BURST_MS - this.#now());
  }

  took(units: number): void {
    this.#until = Math.max(this.#until, this.#now()) + units / UNITS_PER_MS;
  }
}
