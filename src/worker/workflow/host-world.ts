import type { World } from '../../core/world.ts';

/** The longest time that a Node timer can wait; a longer one would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The clock, the chance and the timers of this host: a workflow runs in a worker or in a child process of one, which are given none. */
export const HOST_WORLD: World = {
  clock: { wall: () => Date.now(), monotonic: () => performance.now() },
  random: Math.random,
  timers: {
    after: (ms, fn) => {
      const timer = setTimeout(fn, Math.min(ms, MAX_TIMER_MS));
      return () => clearTimeout(timer);
    },
    soon: (fn) => void setImmediate(fn),
  },
};
