import type { Timers } from '../../core/world.ts';
import { StateError } from '../../flow/machine/scopes.ts';

/** Runs a body that is told to stop after so long (0: never), or when the outer signal says so. Rejects with a `TimeoutError` at once. */
export async function withinMs<T>(
  timers: Timers,
  ms: number,
  signal: AbortSignal,
  body: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const over = new AbortController();
  const late = Promise.withResolvers<never>();
  const onStop = (): void => late.reject(signal.reason as Error);
  signal.addEventListener('abort', onStop, { once: true });
  const cancel =
    ms === 0
      ? undefined
      : timers.after(ms, () => {
          const error = new StateError('TimeoutError', `it took more than ${ms / 1000} s`);
          over.abort(error);
          late.reject(error);
        });
  try {
    return await Promise.race([body(AbortSignal.any([signal, over.signal])), late.promise]);
  } finally {
    cancel?.();
    signal.removeEventListener('abort', onStop);
  }
}
