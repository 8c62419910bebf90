import { fireKey } from '../../src/core/schedule/due.ts';
import { SCHEDULES } from './corpus.ts';
import { DAY_MS, must } from './model-parts.ts';
import { at, BY, operation } from './operation.ts';
import { pushOf } from './pushing.ts';
import { refused } from './rig.ts';

const declareTrigger = operation(
  3,
  { by: BY, name: 2, schedule: SCHEDULES.length, missed: 3, queue: 3, value: 5, anew: 3 },
  async (rig, n) => {
    const name = at(['nightly', 'often'], n.name);
    const before = rig.model.triggers.get(name);
    const kept = n.anew > 0 && before ? SCHEDULES.find(([, period]) => period === before.periodMs) : undefined;
    const [cron, periodMs] = kept ?? at(SCHEDULES, n.schedule);
    if (kept !== undefined) rig.gates.reach('trigger declared again');
    // Every missed slot of five minutes would make thousands of tasks in a month.
    const missed = at(['latest', 'skip', periodMs < 3_600_000 ? 'latest' : 'all'] as const, n.missed);
    const [{ queue, handler, input, maxAttempts, priority }, wanted] = pushOf({ ...n, handler: 0 });
    const answer = await rig.engine(n.by).schedules.put({
      name,
      cron,
      missed,
      queue,
      handler,
      input,
      ...(maxAttempts === undefined ? {} : { maxAttempts }),
      ...(priority === undefined ? {} : { priority }),
    });
    rig.model.queue(queue);
    const nextAt = rig.model.putTrigger({ name, periodMs, missed, push: wanted });
    must(answer === nextAt, `trigger ${name} fires at ${answer}, not ${nextAt}`);
  },
);

const dropTrigger = operation(0.5, { by: BY, name: 2 }, async (rig, n) => {
  const name = at(['nightly', 'often'], n.name);
  if (rig.model.triggers.delete(name)) await rig.engine(n.by).schedules.remove(name);
  else await refused(rig.engine(n.by).schedules.remove(name), 'NOT_FOUND');
});

/** Two who both believe to hold the duty fire the same slot. */
const contestedSlot = operation(2, { by: BY, which: 2 }, async (rig, n) => {
  const { model, gates } = rig;
  const trigger = at([...model.triggers.values()], n.which);
  const duty = model.duties.get('cron');
  if (trigger === undefined || duty === undefined) return;
  const record = (await rig.store(n.by).triggerList()).find(({ name }) => name === trigger.name);
  must(record !== undefined, `trigger ${trigger.name} is missing`);
  const slot = trigger.nextAt;
  const firing = {
    duty: { name: 'cron', epoch: duty.epoch },
    name: trigger.name,
    from: slot,
    nextAt: slot + trigger.periodMs,
    slots: [slot],
    items: [
      {
        lane: record.lane,
        spec: record.spec,
        priority: record.priority,
        maxTries: record.maxTries,
        payload: record.payload,
        unique: { key: fireKey(trigger.name, slot), hash: 0, windowMs: DAY_MS },
      },
    ],
  };
  const answers = await Promise.all([rig.store(0).triggerFire(firing), rig.store(1).triggerFire(firing)]);
  const moved = answers.filter((answer) => answer.moved);
  must(moved.length === 1, `${moved.length} of two fired the slot`);
  const wanted = model.slotPush(trigger, slot);
  const due = model.judgePush(wanted);
  const [pushed] = moved[0]?.pushed ?? [];
  must(pushed?.ok === true, 'a slot was refused');
  if (due === 'create') model.create(pushed.task, wanted);
  else must('existing' in due && due.existing.id === pushed.task && !pushed.fresh, 'a slot fired twice');
  trigger.nextAt += trigger.periodMs;
  gates.reach('cron slot contested');
});

export const TRIGGERS = { declareTrigger, dropTrigger, contestedSlot };
