import type { DutyStore } from '../../store.ts';
import { releaseDuty, renewDuty, takeDuty } from '../verbs/admin/duty.ts';
import { listDuties } from '../verbs/admin/node.ts';
import { SilentTerms } from '../verbs/admin/silent-terms.ts';
import type { StoreParts } from './store-parts.ts';

export function dutyStore({ calls, world }: StoreParts): DutyStore {
  const silent = new SilentTerms(world.clock);
  return {
    dutyTake: ({ name, holder, ttlMs }) =>
      calls.run((session, tried) => takeDuty(session, name, holder, ttlMs, tried, silent)),
    dutyRenew: ({ duty, ttlMs }) => calls.urgently((session) => renewDuty(session, duty, ttlMs)),
    dutyRelease: ({ duty }) => calls.run((session) => releaseDuty(session, duty)),
    dutyList: async () => silent.told(await calls.run(listDuties)),
  };
}
