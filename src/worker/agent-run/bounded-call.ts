import type { Timers } from '../../core/world.ts';

/** A program has so long to end after it was told to, and its process group is killed before that. */
const GRACE_MS = 5_000;

/** Rejects with the reason of the signal soon after it was aborted, even if the call never ends: a function may not hear of it. */
export async function boundedCall<T>(timers: Timers, signal: AbortSignal, call: () => Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  let cancel: (() => void) | undefined;
  const onAbort = (): void => {
    cancel = timers.after(GRACE_MS, () => late.reject(signal.reason as Error));
  };
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([call(), late.promise]);
  } finally {
    cancel?.();
    signal.removeEventListener('abort', onAbort);
  }
}
