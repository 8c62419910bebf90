import type { LimitStore } from '../../store.ts';
import { requireDuty } from '../verbs/admin/duty.ts';
import {
  changeLimit,
  getSlots,
  limitChanges,
  listLimits,
  putLimit,
  removeLimit,
  repairSlots,
  slotHolders,
  slotsOfLimit,
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
    limitSlots: ({ name, limit }) => calls.run((session) => slotsOfLimit(session, name, limit)),
    slotGet: ({ slots }) => calls.run((session) => getSlots(session, slots)),
    slotHolders: ({ slot, limit }) => calls.run((session) => slotHolders(session, slot, limit)),
    slotPause: ({ name, key, forMs }) =>
      calls.run(async (session) => (await session.rows('slotPauseNamed', [name, key, forMs])).length > 0),
    slotAudit: ({ duty }) =>
      calls.transaction(async (session) => {
        await requireDuty(session, duty);
        return repairSlots(session);
      }),
  };
}
