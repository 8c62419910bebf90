import type { Timers } from '../../../core/world.ts';

/** For programs that make a part by itself; a run gives its own. */
export const REAL_TIMERS: Pick<Timers, 'after'> = {
  after: (ms, fn, { unref = false } = {}) => {
    const timer = setTimeout(fn, ms);
    if (unref) timer.unref();
    return () => clearTimeout(timer);
  },
};
