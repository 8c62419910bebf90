import type { DueTriggers, TriggerStore } from '../../store.ts';
import { requireDuty } from '../verbs/admin/duty.ts';
import { dueTriggers, fireTrigger, firstFireTime, listTriggers, putTrigger } from '../verbs/admin/trigger.ts';
import { msUntil } from '../verbs/queue/stage.ts';
import type { StoreParts } from './store-parts.ts';

export function triggerStore(parts: StoreParts): TriggerStore {
  const { writer } = parts;
  return {
    triggerPut: ({ trigger }) => writer.write('rest', (tx) => putTrigger(tx, trigger)),
    triggerRemove: ({ name }) => writer.write('rest', (tx) => tx.sql.get('triggerRemove').run(name).changes > 0),
    triggerList: () => writer.read(({ sql }) => listTriggers(sql)),
    triggerDue: ({ limit }) => due(parts, limit),
    triggerFire: (firing) =>
      writer.write('push', (tx) => {
        requireDuty(tx, firing.duty);
        return fireTrigger(tx, firing);
      }),
  };
}

async function due({ calls, writer }: StoreParts, limit: number): Promise<DueTriggers> {
  const first = await calls.again('firstFireTime', '', ({ sql }) => firstFireTime(sql));
  const now = writer.clock.calendar();
  if (first === undefined || first > now) return { now, triggers: [], nextInMs: msUntil(first, now) };
  return writer.read(({ sql }) => dueTriggers(sql, writer.clock.calendar(), limit));
}
