import type { LimitStore } from '../../store.ts';
import { requireDuty } from '../verbs/admin/duty.ts';
import {
  changeLimit,
  counterHolders,
  countersOfLimit,
  getCounters,
  limitChanges,
  listLimits,
  putLimit,
  removeLimit,
  repairCounters,
} from '../verbs/admin/limit.ts';
import type { StoreParts } from './store-parts.ts';

export function limitStore({ calls }: StoreParts): LimitStore {
  return {
    limitPut: ({ name, limit, by }) =>
      calls.edit('limit', (session) => putLimit(session, name, limit, by)).then(({ revision }) => revision),
    limitEdit: (editing) => calls.edit('limit', (session) => changeLimit(session, editing)),
    limitRemove: ({ name, by }) => calls.edit('limit', (session) => removeLimit(session, name, by)),
    limitList: () => calls.run(listLimits),
    limitHistory: ({ name, limit }) => calls.run((session) => limitChanges(session, name, limit)),
    limitCounters: ({ name, limit }) => calls.run((session) => countersOfLimit(session, name, limit)),
    counterGet: ({ counters }) => calls.run((session) => getCounters(session, counters)),
    counterHolders: ({ counter, limit }) => calls.run((session) => counterHolders(session, counter, limit)),
    counterPause: ({ name, key, forMs }) =>
      calls.run(async (session) => (await session.rows('slotPauseNamed', [name, key, forMs])).length > 0),
    counterAudit: ({ duty }) =>
      calls.transaction(async (session) => {
        await requireDuty(session, duty);
        return repairCounters(session);
      }),
  };
}
