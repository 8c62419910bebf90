import type { PushAnswer, TriggerAnswer, TriggerFiring, TriggerStore } from '../../store.ts';
import { pick } from '../places.ts';
import { requireDuty } from '../verbs/admin/duty.ts';
import { dueTriggers, listTriggers, putTrigger } from '../verbs/admin/trigger.ts';
import { pushKeyed, waves } from '../verbs/queue/push.ts';
import type { StoreParts } from './store-parts.ts';

export function triggerStore(parts: StoreParts): TriggerStore {
  const { calls } = parts;
  return {
    triggerPut: ({ trigger }) => calls.run((session) => putTrigger(session, trigger)),
    triggerRemove: ({ name }) => calls.run(async (session) => (await session.rows('triggerRemove', [name])).length > 0),
    triggerList: () => calls.run(listTriggers),
    triggerDue: ({ limit }) => calls.run((session) => dueTriggers(session, limit)),
    triggerFire: (firing) => fire(parts, firing),
  };
}

/** The trigger moves on by compare-and-set, and each task has its fire time as unique key: no fire time fires twice. */
async function fire(parts: StoreParts, firing: TriggerFiring): Promise<TriggerAnswer> {
  const { calls, dedup, hints, lanes } = parts;
  const answer = await calls.transaction(async (session): Promise<TriggerAnswer> => {
    await requireDuty(session, firing.duty);
    const moved = await session.rows('triggerMove', [firing.nextAt, firing.name, firing.from]);
    if (moved.length === 0) return { moved: false, pushed: [] };
    await lanes.need(
      session,
      firing.items.map(({ lane }) => lane),
    );
    const pushed: PushAnswer[] = [];
    for (const wave of waves(firing.items, ({ lane }) => lanes.known(lane)?.queueId ?? 0)) {
      const given = await pushKeyed(session, parts, dedup.next(), pick(firing.items, wave));
      for (const [at, i] of wave.entries()) pushed[i] = given[at] as PushAnswer;
    }
    return { moved: true, pushed };
  });
  hints.pushed(firing.items, answer.pushed);
  return answer;
}
