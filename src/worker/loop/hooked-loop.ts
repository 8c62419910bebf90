import { AsyncLocalStorage } from 'node:async_hooks';
import type { HookedRun } from '../machine/machine-hooks.ts';

/** The run that an action or an agent belongs to. Its agents are asked deep below its hooks. */
export const hookedLoops = new AsyncLocalStorage<HookedRun>();

/** What a phase says, for those who keep it. */
const listeners = new AsyncLocalStorage<(text: string) => void>();

/** A line of the log of the run under way. Nothing that is logged ends a run. */
export function logLine(text: string): void {
  hookedLoops.getStore()?.log?.(text);
  listeners.getStore()?.(text);
}

/** All that is logged by what `act` does is told to this listener as well. */
export function overheard<T>(listener: (text: string) => void, act: () => T): T {
  return listeners.run(listener, act);
}
