import type { World } from '../../src/core/world.ts';

interface Timer {
  readonly owner: number;
  readonly at: number;
  readonly fn: () => void;
}

/**
 * One host whose time stands still unless it is told to move. All its processes share the clocks; each has timers of its
 * own, which die with it. Timers fire only here, so a run does the same each time.
 */
export class VirtualHost {
  wall: number;
  monotonic: number;
  #timers: Timer[] = [];
  #owners = 0;
  #chance = 0x2545f491;

  constructor(wall: number, monotonic: number) {
    this.wall = wall;
    this.monotonic = monotonic;
  }

  /** The world as one process sees it, and the way to end that process. */
  process(): { readonly world: World; readonly kill: () => void } {
    const owner = ++this.#owners;
    return {
      world: {
        clock: { wall: () => this.wall, monotonic: () => this.monotonic },
        random: () => this.#random(),
        timers: {
          after: (ms, fn) => {
            const timer: Timer = { owner, at: this.monotonic + ms, fn };
            this.#timers.push(timer);
            return () => {
              const at = this.#timers.indexOf(timer);
              if (at >= 0) this.#timers.splice(at, 1);
            };
          },
          // Without a turn of the real loop: what one call sets off has run to its end when the call is answered.
          soon: (fn) => queueMicrotask(fn),
        },
      },
      kill: () => {
        this.#timers = this.#timers.filter((timer) => timer.owner !== owner);
      },
    };
  }

  /** Moves both clocks, and fires what falls due on the way at its own moment. */
  advance(ms: number): void {
    const end = this.monotonic + ms;
    const wallEnd = this.wall + ms;
    for (let next = this.#earliest(); next !== undefined && next.at <= end; next = this.#earliest()) {
      this.monotonic = Math.max(this.monotonic, next.at);
      this.wall = wallEnd - (end - this.monotonic);
      this.#fire(next);
    }
    // Set and not added up: timers may be due at fractions of a millisecond.
    this.monotonic = end;
    this.wall = wallEnd;
  }

  /** Somebody sets the wall clock. */
  setWall(by: number): void {
    this.wall += by;
  }

  /** Fires what is waiting now, whenever it is due, without moving the clocks. */
  fireWaiting(): void {
    const waiting = this.#timers.slice();
    for (const timer of waiting) if (this.#timers.includes(timer)) this.#fire(timer);
  }

  /** Monotonic time starts over, and nothing that was waiting is left. */
  reboot(): void {
    this.monotonic = 1000;
    this.#timers = [];
  }

  #earliest(): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.#timers) if (first === undefined || timer.at < first.at) first = timer;
    return first;
  }

  #fire(timer: Timer): void {
    this.#timers.splice(this.#timers.indexOf(timer), 1);
    timer.fn();
  }

  #random(): number {
    this.#chance ^= this.#chance << 13;
    this.#chance ^= this.#chance >>> 17;
    this.#chance ^= this.#chance << 5;
    return (this.#chance >>> 0) / 2 ** 32;
  }
}

/** Lets everything that is under way go on as far as it can without the clock. */
export function settle(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
