import type { Clock } from '../../core/world.ts';

const WINDOW_MS = 3_600_000;
/** Of all strangers together. */
const OF_STRANGERS = 60;
/** Of one caller whom we know: an admin can revoke its token. */
const OF_ONE = 600;
/** Callers that are counted one by one. */
const MOST_CALLERS = 1000;

interface Window {
  readonly from: number;
  written: number;
  /** Not written since the last that was. */
  passed: number;
}

/** How many refusals a node writes down in an hour. The rest is counted, and the next one that is written stands for it. */
export class RefusalBudget {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #windows = new Map<string, Window>();
  #skipped = 0;

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Since this process started. */
  get skipped(): number {
    return this.#skipped;
  }

  /** How many refusals the entry stands for; undefined: none is written. `caller` undefined: a stranger. */
  take(caller: string | undefined): number | undefined {
    const window = this.#windowOf(caller ?? '');
    if (window.written >= (caller === undefined ? OF_STRANGERS : OF_ONE)) {
      window.passed += 1;
      this.#skipped += 1;
      return undefined;
    }
    const times = window.passed + 1;
    window.written += 1;
    window.passed = 0;
    return times;
  }

  #windowOf(key: string): Window {
    const now = this.#clock.monotonic();
    const there = this.#windows.get(key);
    if (there !== undefined && there.from + WINDOW_MS > now) return there;
    if (there === undefined && this.#windows.size >= MOST_CALLERS) this.#windows.clear();
    const window = { from: now, written: 0, passed: there?.passed ?? 0 };
    this.#windows.set(key, window);
    return window;
  }
}
