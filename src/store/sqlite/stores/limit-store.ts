import type { LimitStore } from '../../store.ts';
import { requireDuty } from '../verbs/admin/duty.ts';
import {
  auditSlots,
  changeLimit,
  getSlot,
  limitChanges,
  listLimits,
  pauseSlot,
  putLimit,
  removeLimit,
  slotHolders,
  slotsOfLimit,
} from '../verbs/admin/limit.ts';
import type { StoreParts } from './store-parts.ts';

export function limitStore({ writer }: StoreParts): LimitStore {
  return {
    limitPut: ({ name, limit, by }) => writer.write('rest', (tx) => putLimit(tx, name, limit, by)),
    limitEdit: (editing) => writer.write('rest', (tx) => changeLimit(tx, editing)),
    limitRemove: ({ name, by }) => writer.write('rest', (tx) => removeLimit(tx, name, by)),
    limitList: () => writer.read(({ sql }) => listLimits(sql)),
    limitHistory: ({ name, limit }) => writer.read(({ sql }) => limitChanges(sql, name, limit)),
    limitSlots: ({ name, limit }) => writer.read(({ sql }) => slotsOfLimit(sql, name, limit)),
    async slotGet({ slots }) {
      const now = writer.clock.lease();
      return writer.read(({ sql }) => ({ now, slots: slots.map((slot) => getSlot(sql, slot)) }));
    },
    slotHolders: ({ slot, limit }) => writer.read(({ sql }) => slotHolders(sql, slot, limit)),
    slotPause: ({ name, key, forMs }) => writer.write('rest', (tx) => pauseSlot(tx, name, key, forMs)),
    slotAudit: ({ duty }) =>
      writer.write('rest', (tx) => {
        requireDuty(tx, duty);
        return auditSlots(tx);
      }),
  };
}
