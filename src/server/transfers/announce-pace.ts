import { fault } from '../../core/errors.ts';
import type { Clock } from '../../core/world.ts';

export interface PaceBounds {
  /** Calls a second of one worker, and how many of them it may save up. */
  readonly rate: number;
  readonly burst: number;
}

/** An artifact is announced and ended: fifty of them a second, after a burst of five hundred. */
export const ANNOUNCE_BOUNDS: PaceBounds = { rate: 100, burst: 1000 };
/** A forgotten worker may save up anew, but nobody has so many names. */
const MOST_WORKERS = 10_000;

/**
 * Paces what workers announce. Each announcement, also one that is refused, locks the row in which the room of all artifacts is counted, so a worker
 * that announces in a loop would slow down every other one.
 */
export class AnnouncePace {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #bounds: PaceBounds;
  readonly #left = new Map<string, { left: number; at: number }>();

  constructor(clock: Pick<Clock, 'monotonic'>, bounds: PaceBounds = ANNOUNCE_BOUNDS) {
    this.#clock = clock;
    this.#bounds = bounds;
  }

  /** Refuses with `TOO_MANY` and the time to come back. */
  readonly admit = (worker: string): void => {
    const { rate, burst } = this.#bounds;
    const now = this.#clock.monotonic();
    let known = this.#left.get(worker);
    if (known === undefined) {
      if (this.#left.size >= MOST_WORKERS) this.#left.clear();
      this.#left.set(worker, (known = { left: burst, at: now }));
    }
    known.left = Math.min(burst, known.left + ((now - known.at) / 1000) * rate);
    known.at = now;
    if (known.left < 1) {
      const problem = `this worker announces and ends more than ${rate} artifacts a second`;
      throw fault('TOO_MANY', { problem, retryAfterMs: Math.ceil(((1 - known.left) / rate) * 1000) });
    }
    known.left -= 1;
  };
}
