import type { Tracing } from './task/trace.ts';

/**
 * What the outside hands to the engine and the stores. Nothing below `app/` reads a clock, draws a random number or sets a
 * timer by itself, so that the simulator can own all three.
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
  /** Calendar time: milliseconds since 1970. It may jump; no lease is ever judged by it. */
  readonly wall: () => number;
  /** Milliseconds since some fixed point of this boot. Never goes back, and is the same for all processes of one host. */
  readonly monotonic: () => number;
}

export interface Timers {
  /** Runs `fn` once after `ms`; the returned function takes it back. Must not keep the process alive when `unref` is asked. */
  readonly after: (ms: number, fn: () => void, options?: { readonly unref?: boolean }) => () => void;
  /** Runs `fn` in the next turn of the event loop. */
  readonly soon: (fn: () => void) => void;
}
