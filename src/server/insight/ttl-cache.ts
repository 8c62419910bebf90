import type { Clock } from '../../core/world.ts';

/** Entries at once. */
const MOST_KEYS = 200;

interface CacheEntry<T> {
  readonly answer: Promise<T>;
  readonly at: number;
}

/** Caches answers for a moment: a hundred open pages cost one read a second. Callers during a read share it. */
export class TtlCache<T> {
  readonly #clock: Clock;
  readonly #forMs: number;
  readonly #kept = new Map<string, CacheEntry<T>>();

  constructor(clock: Clock, forMs = 1000) {
    this.#clock = clock;
    this.#forMs = forMs;
  }

  get(key: string, look: () => Promise<T>): Promise<T> {
    const now = this.#clock.monotonic();
    const kept = this.#kept.get(key);
    if (kept !== undefined && now - kept.at < this.#forMs) return kept.answer;
    const answer = look();
    // The oldest go first; a map keeps the order of insertion.
    this.#kept.delete(key);
    if (this.#kept.size >= MOST_KEYS) this.#kept.delete(this.#kept.keys().next().value as string);
    this.#kept.set(key, { answer, at: now });
    // A failure is not cached.
    answer.catch(() => {
      if (this.#kept.get(key)?.answer === answer) this.#kept.delete(key);
    });
    return answer;
  }
}
