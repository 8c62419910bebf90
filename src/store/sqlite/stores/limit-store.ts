import type { LimitStore } from '../../store.ts';
import { requireDuty } from '../verbs/admin/duty.ts';
import {
  auditCounters,
  changeLimit,
  counterHolders,
  countersOfLimit,
  getCounter,
  limitChanges,
  listLimits,
  pauseCounter,
  putLimit,
  removeLimit,
} from '../verbs/admin/limit.ts';
import type { StoreParts } from './store-parts.ts';

export function limitStore({ writer }: StoreParts): LimitStore {
  return {
    limitPut: ({ name, limit, by }) => writer.write('rest', (tx) => putLimit(tx, name, limit, by)),
    limitEdit: (editing) => writer.write('rest', (tx) => changeLimit(tx, editing)),
    limitRemove: ({ name, by }) => writer.write('rest', (tx) => removeLimit(tx, name, by)),
    limitList: () => writer.read(({ sql }) => listLimits(sql)),
    limitHistory: ({ name, limit }) => writer.read(({ sql }) => limitChanges(sql, name, limit)),
    limitCounters: ({ name, limit }) => writer.read(({ sql }) => countersOfLimit(sql, name, limit)),
    async counterGet({ counters }) {
      const now = writer.clock.lease();
      return writer.read(({ sql }) => ({ now, counters: counters.map((counter) => getCounter(sql, counter)) }));
    },
    counterHolders: ({ counter, limit }) => writer.read(({ sql }) => counterHolders(sql, counter, limit)),
    counterPause: ({ name, key, forMs }) => writer.write('rest', (tx) => pauseCounter(tx, name, key, forMs)),
    counterAudit: ({ duty }) =>
      writer.write('rest', (tx) => {
        requireDuty(tx, duty);
        return auditCounters(tx);
      }),
  };
}
