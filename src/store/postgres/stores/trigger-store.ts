import { fireLine, linesOf } from '../../rows/records.ts';
import { runValues } from '../../rows/run-rows.ts';
import type { NewRun, PushAnswer, TriggerAnswer, TriggerFiring, TriggerRunning, TriggerStore } from '../../store.ts';
import type { Session } from '../connect/database.ts';
import { requireDuty } from '../verbs/admin/duty.ts';
import {
  countFires,
  dueTriggers,
  findTrigger,
  listFires,
  listTriggers,
  noteFires,
  pauseTrigger,
  putTrigger,
  removeTrigger,
  resumeTrigger,
} from '../verbs/admin/trigger.ts';
import { pushWithin } from '../verbs/queue/push-within.ts';
import { needsAdmission } from './push-store.ts';
import type { StoreParts } from './store-parts.ts';

export function triggerStore(parts: StoreParts): TriggerStore {
  const { calls } = parts;
  return {
    triggerPut: ({ trigger }) => calls.run((session) => putTrigger(session, trigger)),
    triggerRemove: ({ name }) => calls.transaction((session) => removeTrigger(session, name)),
    triggerList: () => calls.run(listTriggers),
    triggerFind: ({ name }) => calls.run((session) => findTrigger(session, name)),
    triggerPause: ({ name }) => calls.run((session) => pauseTrigger(session, name)),
    triggerResume: (params) => calls.run((session) => resumeTrigger(session, params)),
    triggerDue: ({ limit }) => calls.run((session) => dueTriggers(session, limit)),
    triggerFire: (firing) => fire(parts, firing),
    triggerRun: (params) => runNow(parts, params),
    triggerFires: ({ name, limit }) => calls.run((session) => listFires(session, name, limit)),
  };
}

/** The trigger moves on by compare-and-set, and each task has its fire time as unique key: no fire time fires twice. */
async function fire(parts: StoreParts, firing: TriggerFiring): Promise<TriggerAnswer> {
  const { calls, hints } = parts;
  const asks = await needsAdmission(parts, firing.items);
  const answer = await calls.transaction(async (session, tried): Promise<TriggerAnswer> => {
    await requireDuty(session, firing.duty);
    const moved = await session.rows('triggerMove', [firing.nextAt, firing.name, firing.from, firing.payload ?? null]);
    if (moved.length === 0) return { moved: false, pushed: [] };
    const pushed = await pushWithin(session, parts, { items: firing.items, asks, tried });
    await addRuns(session, pushed, firing.runs ?? []);
    const lines = linesOf(firing, pushed);
    const count = lines.length === 0 ? undefined : await countFires(session, firing.name, lines.length);
    if (count !== undefined) await noteFires(session, firing.name, count, lines);
    return { moved: true, pushed };
  });
  hints.pushed(firing.items, answer.pushed);
  return answer;
}

async function runNow(parts: StoreParts, { name, item, run }: TriggerRunning): Promise<PushAnswer | undefined> {
  const asks = await needsAdmission(parts, [item]);
  // Its answer is kept as JSON, which has no undefined.
  const answer = await parts.calls.edit('triggerRun', async (session): Promise<PushAnswer | null> => {
    const count = await countFires(session, name, 1);
    if (count === undefined) return null;
    const [pushed] = (await pushWithin(session, parts, { items: [item], asks, tried: { again: false } })) as [
      PushAnswer,
    ];
    await addRuns(session, [pushed], run === undefined ? [] : [run]);
    await noteFires(session, name, count, [fireLine(count.now, 'run', pushed)]);
    return pushed;
  });
  return answer ?? undefined;
}

/** Of new tasks: one that was there already has its run. */
async function addRuns(session: Session, pushed: readonly PushAnswer[], runs: readonly NewRun[]): Promise<void> {
  for (const [i, run] of runs.entries()) {
    const answer = pushed[i];
    if (answer?.ok !== true || !answer.fresh) continue;
    await session.rows('runAdd', [answer.task, answer.createdAt, ...runValues(run)]);
  }
}
