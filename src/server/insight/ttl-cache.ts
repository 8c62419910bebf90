import type { Clock } from '../../core/world.ts';

/** Different questions that are remembered at once; each of them may be asked by many. */
const MOST_KEYS = 200;

interface CacheEntry<T> {
  readonly answer: Promise<T>;
  readonly at: number;
}

/** Answers for a moment: a hundred pages that are open cost one look a second. Who asks while a look is under way shares it. */
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
    // The oldest go first; the map is in the order in which they came.
    this.#kept.delete(key);
    if (this.#kept.size >= MOST_KEYS) this.#kept.delete(this.#kept.keys().next().value as string);
    this.#kept.set(key, { answer, at: now });
    // What failed is asked for again.
    answer.catch(() => {
      if (this.#kept.get(key)?.answer === answer) this.#kept.delete(key);
    });
    return answer;
  }
}
