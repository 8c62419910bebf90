import { onGroupReport, onGroupStart } from '../child/group-reports.ts';
import { Guard, type GuardOptions } from './guard.ts';

let isOn = false;

/**
 * From now on a guard ends the programs that handlers have started within this process, such as agents and the checks of loops, when the
 * process is killed: another worker is about to start them in the same folders. It is started with the first of them.
 */
export function guardPrograms({ path, warn }: Omit<GuardOptions, 'incarnation'>): void {
  if (isOn) return;
  isOn = true;
  let guard: Guard | undefined;
  onGroupStart((start, over) => {
    if (over) return guard?.started(start);
    if (guard === undefined) {
      guard = new Guard({ incarnation: undefined, path, warn });
      // What it could not start it has said.
      guard.start().catch(() => {});
    }
    guard.starting(start);
  });
  onGroupReport((group, gone) => (gone ? guard?.forget(group) : guard?.watch(group)));
}
