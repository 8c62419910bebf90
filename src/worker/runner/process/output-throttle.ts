/** The most that the worker reads from one child: 6.4 MB/s. More would keep the worker from its leases. */
export const BYTES_PER_MS = 6_400;
export const BURST = 512 * 1024;

/** A token bucket for the output of a child. Reading may overdraw it; the debt is paid back first. */
export class OutputThrottle {
  readonly #resume: () => void;
  readonly #now: () => number;
  #left = BURST;
  #at: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(resume: () => void, now: () => number = () => performance.now()) {
    this.#resume = resume;
    this.#now = now;
    this.#at = now();
  }

  /** True: go on. False: stop until `resume` is called. */
  spend(cost: number): boolean {
    this.#refill();
    this.#left -= cost;
    if (this.#left >= 0) return true;
    this.#timer ??= setTimeout(() => this.#wake(), Math.ceil(-this.#left / BYTES_PER_MS));
    return false;
  }

  get waiting(): boolean {
    return this.#timer !== undefined;
  }

  /** Fills it up, without a call of `resume`. */
  clear(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#left = BURST;
  }

  #wake(): void {
    this.#timer = undefined;
    this.#refill();
    // A chunk that came after the timer was set has overdrawn it.
    if (this.#left < 0) this.#timer = setTimeout(() => this.#wake(), Math.ceil(-this.#left / BYTES_PER_MS));
    else this.#resume();
  }

  #refill(): void {
    const now = this.#now();
    this.#left = Math.min(BURST, this.#left + (now - this.#at) * BYTES_PER_MS);
    this.#at = now;
  }
}
