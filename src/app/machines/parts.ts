/** What a program needs of machines before one runs. What reads their files is loaded with the first run: most users of `leasehold/compat` run none. */
import { LocalSignals } from '../../worker/machine/signals.ts';

export { HooksRegistry } from '../../worker/machine/hooks-registry.ts';
export { MachineFailed } from '../../worker/machine/inline-driver.ts';
export type { HooksFactory, MachineHooks } from '../../worker/machine/machine-hooks.ts';

/** Signals of the runs of this process. */
export function newSignals(): LocalSignals {
  return new LocalSignals();
}
