/** What a program needs of machines before one runs. What reads their files is loaded with the first run: most users of `leasehold/compat` run none. */

import { HooksRegistry as NamedHooks } from '../../worker/machine/hooks-registry.ts';
import { LocalSignals } from '../../worker/machine/signals.ts';
import { HOOKS_NAME } from '../pools/hooks-name.ts';

export { MachineFailed } from '../../worker/machine/machine-failed.ts';
export type { HooksFactory, MachineHooks } from '../../worker/machine/machine-hooks.ts';

/** Hooks by their names: those of the caller, `logging`, `metrics`, `webhook`, and `distributed-worker`, which needs a store. */
export class HooksRegistry extends NamedHooks {
  constructor(...options: ConstructorParameters<typeof NamedHooks>) {
    super(...options);
    this.register(HOOKS_NAME, async (args, folder) => {
      const { DistributedWorkerHooks } = await import('../pools/hooks.ts');
      return new DistributedWorkerHooks({ ...args, ...(folder === undefined ? {} : { folder }) });
    });
  }
}

/** Signals of the runs of this process. */
export function newSignals(): LocalSignals {
  return new LocalSignals();
}
