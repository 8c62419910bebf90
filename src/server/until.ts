/** Waits until `subscribe` calls back or the signal comes. Nothing is left on the signal: a stream of days waits on it millions of times. */
export async function until(signal: AbortSignal, subscribe: (resolve: () => void) => void): Promise<void> {
  if (signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const end = (): void => resolve();
  signal.addEventListener('abort', end);
  subscribe(resolve);
  await promise;
  signal.removeEventListener('abort', end);
}
