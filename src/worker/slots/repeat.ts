import type { Timers } from '../../core/world.ts';

/** Calls it again and again, however the last call went, until the answer is called. Keeps no process alive. */
export function repeat(timers: Timers, ms: number, act: () => void | Promise<void>): () => void {
  let cancel = (): void => {};
  const next = (): void => {
    cancel = timers.after(
      ms,
      () => {
        next();
        void Promise.resolve(act()).catch(() => {});
      },
      { unref: true },
    );
  };
  next();
  return () => cancel();
}
