import type { DueTriggers, TriggerStore } from '../../store.ts';
import { requireDuty } from '../verbs/admin/duty.ts';
import {
  dueTriggers,
  findTrigger,
  fireTrigger,
  firstFireTime,
  listFires,
  listTriggers,
  pauseTrigger,
  putTrigger,
  removeTrigger,
  resumeTrigger,
  runTrigger,
} from '../verbs/admin/trigger.ts';
import { msUntil } from '../verbs/queue/stage.ts';
import type { StoreParts } from './store-parts.ts';

export function triggerStore(parts: StoreParts): TriggerStore {
  const { writer } = parts;
  return {
    triggerPut: ({ trigger }) => writer.write('rest', (tx) => putTrigger(tx, trigger)),
    triggerRemove: ({ name }) => writer.write('rest', (tx) => removeTrigger(tx, name)),
    triggerList: () => writer.read(({ sql }) => listTriggers(sql)),
    triggerFind: ({ name }) => writer.read(({ sql }) => findTrigger(sql, name)),
    triggerPause: ({ name }) => writer.write('rest', (tx) => pauseTrigger(tx, name)),
    triggerResume: (params) => writer.write('rest', (tx) => resumeTrigger(tx, params)),
    triggerDue: ({ limit }) => due(parts, limit),
    triggerFire: (firing) =>
      writer.write('push', (tx) => {
        requireDuty(tx, firing.duty);
        return fireTrigger(tx, firing);
      }),
    triggerRun: (params) => writer.write('push', (tx) => runTrigger(tx, params)),
    triggerFires: ({ name, limit }) => writer.read(({ sql }) => listFires(sql, name, limit)),
  };
}

async function due({ calls, writer }: StoreParts, limit: number): Promise<DueTriggers> {
  const first = await calls.again('firstFireTime', '', ({ sql }) => firstFireTime(sql));
  const now = writer.clock.calendar();
  if (first === undefined || first > now) return { now, triggers: [], nextInMs: msUntil(first, now) };
  return writer.read(({ sql }) => dueTriggers(sql, writer.clock.calendar(), limit));
}
