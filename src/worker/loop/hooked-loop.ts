import { AsyncLocalStorage } from 'node:async_hooks';
import type { HookedRun } from '../machine/machine-hooks.ts';

/** The run that an action or an agent belongs to. Its agents are asked deep below its hooks. */
export const hookedLoops = new AsyncLocalStorage<HookedRun>();

/** A line of the log of the run under way. Nothing that is logged ends a run. */
export function logLine(text: string): void {
  hookedLoops.getStore()?.log?.(text);
}
