import type { Tracing } from './task/trace.ts';

/**
 * What the outside gives to the engine and the stores. Nothing below `app/` reads a clock, draws a random number or sets a timer by itself,
 * so that the simulator controls all three.
 */
export interface World {
  readonly clock: Clock;
  /** A number in [0, 1). */
  readonly random: () => number;
  readonly timers: Timers;
  /** Where traces are written; undefined: nowhere. */
  readonly tracing?: Tracing | undefined;
}

export interface Clock {
  /** Calendar time: milliseconds since 1970. It may jump; no lease depends on it. */
  readonly wall: () => number;
  /** Milliseconds since a fixed point of this boot. It never goes back, and is the same for all processes of one host. */
  readonly monotonic: () => number;
}

export interface Timers {
  /** Runs `fn` once after `ms`; the returned function cancels it. With `unref` it must not keep the process alive. */
  readonly after: (ms: number, fn: () => void, options?: { readonly unref?: boolean }) => () => void;
  /** Runs `fn` in the next turn of the event loop. */
  readonly soon: (fn: () => void) => void;
}
