import type { Tracing } from '../core/task/trace.ts';
import type { World } from '../core/world.ts';

export type { Tracing } from '../core/task/trace.ts';

/** The longest time that a Node timer can wait; a longer one would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The real clock, randomness and timers: the only ones outside the tests. */
export function realWorld(tracing?: Tracing): World {
  const bootOffset = monotonicNow() - performance.now();
  return {
    clock: {
      wall: () => Date.now(),
      monotonic: () => bootOffset + performance.now(),
    },
    random: Math.random,
    timers: {
      after: (ms, fn, options) => {
        const timer = setTimeout(fn, Math.min(ms, MAX_TIMER_MS));
        if (options?.unref) timer.unref();
        return () => clearTimeout(timer);
      },
      soon: (fn) => void setImmediate(fn),
    },
    tracing,
  };
}

/** CLOCK_MONOTONIC: the same for all processes of the host. `performance.now()` is not, until it is shifted by this. */
function monotonicNow(): number {
  const [seconds, nanos] = process.hrtime();
  return seconds * 1000 + nanos / 1e6;
}
