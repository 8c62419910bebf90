import type { Timers } from '../../core/world.ts';

/** Calls `act` every so often, also after a failure. The returned function ends it. Does not keep the process alive. */
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
