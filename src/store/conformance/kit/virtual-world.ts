import type { Clock, Timers, World } from '../../../core/world.ts';

export interface VirtualWorldOptions {
  /** The same seed draws the same numbers. */
  readonly seed?: number;
  /** Calendar time at the beginning. */
  readonly wall?: number;
  /** Monotonic time at the beginning. */
  readonly monotonic?: number;
}

interface Timer {
  readonly at: number;
  readonly order: number;
  readonly fn: () => void;
}

/** 2026-01-05, a Monday, at noon UTC. */
const BEGINNING = Date.UTC(2026, 0, 5, 12);
const MONOTONIC_BEGINNING = 5_000_000;
/** More turns of the loop than any chain of work needs. Beyond it something loops for ever. */
const MAX_TURNS = 100_000;

/**
 * A world whose time stands still until a test moves it: no test sleeps, and none depends on the speed of the machine.
 * Timers fire in the order of their times, each at its own instant. What a timer starts runs before the next timer
 * fires.
 */
export class VirtualWorld implements World {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: () => number;
  /** How far calendar time is ahead of monotonic time. A sum of its own would drift from whole milliseconds. */
  #ahead: number;
  #monotonic: number;
  #timers: Timer[] = [];
  #order = 0;
  #turnsAsked = 0;

  constructor(options: VirtualWorldOptions = {}) {
    this.#monotonic = options.monotonic ?? MONOTONIC_BEGINNING;
    this.#ahead = (options.wall ?? BEGINNING) - this.#monotonic;
    this.random = mulberry32(options.seed ?? 1);
    this.clock = { wall: () => this.#monotonic + this.#ahead, monotonic: () => this.#monotonic };
    this.timers = {
      after: (ms, fn) => {
        const timer = { at: this.#monotonic + Math.max(0, ms), order: this.#order++, fn };
        this.#timers.push(timer);
        return () => {
          this.#timers = this.#timers.filter((other) => other !== timer);
        };
      },
      soon: (fn) => {
        this.#turnsAsked++;
        setImmediate(() => {
          this.#turnsAsked--;
          fn();
        });
      },
    };
  }

  /** How long until each timer that is set, ascending. */
  get waits(): readonly number[] {
    return this.#timers.map(({ at }) => at - this.#monotonic).sort((a, b) => a - b);
  }

  /** Moves both clocks, firing every timer that comes due on the way. */
  async advance(ms: number): Promise<void> {
    const until = this.#monotonic + ms;
    await this.settle();
    for (let timer = this.#next(until); timer !== undefined; timer = this.#next(until)) {
      this.elapse(Math.max(0, timer.at - this.#monotonic));
      this.#timers = this.#timers.filter((other) => other !== timer);
      timer.fn();
      await this.settle();
    }
    this.elapse(until - this.#monotonic);
  }

  /** Moves both clocks at once and fires nothing: time that passes while the process is busy or stopped. */
  elapse(ms: number): void {
    this.#monotonic += ms;
  }

  /** Somebody sets the wall clock: it moves alone. */
  jump(ms: number): void {
    this.#ahead += ms;
  }

  /** Runs everything that was started as far as it can go without time passing. */
  async settle(): Promise<void> {
    for (let turn = 0, quiet = 0; quiet < 3; turn++) {
      if (turn > MAX_TURNS) throw new Error('the work never comes to rest: something goes round without time passing');
      await new Promise<void>((resolve) => void setImmediate(resolve));
      quiet = this.#turnsAsked > 0 ? 0 : quiet + 1;
    }
  }

  #next(until: number): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.#timers) {
      if (timer.at > until) continue;
      if (first === undefined || timer.at < first.at || (timer.at === first.at && timer.order < first.order))
        first = timer;
    }
    return first;
  }
}

/** Numbers in [0, 1) that a seed decides. */
function mulberry32(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
