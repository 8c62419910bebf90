import type { Timers } from './world.ts';

export interface PauseOptions {
  /** Ends the wait early; the promise resolves all the same. */
  readonly signal?: AbortSignal | undefined;
  /** Does not keep the process alive. */
  readonly unref?: boolean;
}

/** Waits so long. Leaves nothing on the signal: a stream of days waits on the same one again and again. */
export function pause(timers: Timers, ms: number, { signal, unref = false }: PauseOptions = {}): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (signal?.aborted) {
    resolve();
    return promise;
  }
  const end = (): void => {
    cancel();
    signal?.removeEventListener('abort', end);
    resolve();
  };
  const cancel = timers.after(ms, end, { unref });
  signal?.addEventListener('abort', end);
  return promise;
}
