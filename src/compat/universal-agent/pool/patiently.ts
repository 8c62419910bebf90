import { isEngineError, pause, type World } from '../../../app/library/run-pools.ts';

const FIRST_MS = 100;
const LONGEST_MS = 2000;

/** Asks again while the store is away, until the signal says that the answer is of no use any more. */
export async function patiently<T>(world: World, signal: AbortSignal, ask: () => Promise<T>): Promise<T> {
  for (let ms = FIRST_MS; ; ms = Math.min(LONGEST_MS, 2 * ms)) {
    try {
      return await ask();
    } catch (error) {
      if (!isEngineError(error) || !error.retryable || signal.aborted) throw error;
    }
    await pause(world.timers, ms, { signal });
  }
}
