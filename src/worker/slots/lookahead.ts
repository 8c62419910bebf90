/**
 * How many tasks to claim beyond the free slots, so that short tasks do not wait for the next claim and long ones do not
 * wait in a busy worker while another one is idle.
 *
 * That is the number that the slots use up until the next claim can be back, from moving averages of both times. It is none
 * when a task takes longer than a claim.
 */
export class Lookahead {
  readonly #slots: number;
  readonly #max: number;
  #runMs = Number.POSITIVE_INFINITY;
  #claimMs = 2;

  constructor(slots: number, max: number) {
    this.#slots = slots;
    this.#max = max;
  }

  /** Records how long a run took. */
  ran(ms: number): void {
    this.#runMs = Number.isFinite(this.#runMs) ? this.#runMs + (ms - this.#runMs) / 16 : ms;
  }

  /** Records how long a claim that found work took. */
  claimed(ms: number): void {
    this.#claimMs += (Math.min(ms, 100) - this.#claimMs) / 16;
  }

  /** Claimed tasks waited too long: starts again from none. */
  tooMuch(): void {
    this.#runMs = Number.POSITIVE_INFINITY;
  }

  get size(): number {
    const perClaim = (this.#slots * 2 * this.#claimMs) / Math.max(this.#runMs, 0.005);
    return Math.min(this.#max, Math.floor(perClaim));
  }
}
