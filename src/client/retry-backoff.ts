/** The clock of the retries; tests have their own. */
export interface RetryClock {
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** From 0 up to 1. */
  readonly random: () => number;
  /** Rejects with the reason of the signal if that comes first. */
  readonly sleep: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
}

export const REAL_CLOCK: RetryClock = { now: () => performance.now(), random: () => Math.random(), sleep };

/** The longest pause before the n-th try. The pause is drawn between half of it and all, so that not all callers come at once. */
const PAUSES_MS = [50, 100, 200, 500, 1000, 2000];

/** Pauses between retries, until so much time has passed since the first failure. */
export class RetryBackoff {
  readonly #clock: RetryClock;
  readonly #forMs: number;
  #failures = 0;
  #since = 0;

  constructor(clock: RetryClock, forMs: number) {
    this.#clock = clock;
    this.#forMs = forMs;
  }

  /** After a success the next failure counts as the first. */
  reset(): void {
    this.#failures = 0;
  }

  /** Waits before the next try. False: the time is over. */
  async wait(signal: AbortSignal | undefined): Promise<boolean> {
    const now = this.#clock.now();
    if (this.#failures === 0) this.#since = now;
    const left = this.#since + this.#forMs - now;
    if (left <= 0) return false;
    const longest = PAUSES_MS[Math.min(this.#failures, PAUSES_MS.length - 1)] as number;
    this.#failures += 1;
    await this.#clock.sleep(Math.min(left, (longest * (1 + this.#clock.random())) / 2), signal);
    return true;
  }
}

function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const end = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', end);
      resolve();
    }, ms);
    signal?.addEventListener('abort', end, { once: true });
  });
}
