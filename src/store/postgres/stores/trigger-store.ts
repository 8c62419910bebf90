import { fireLine, linesOf } from '../../rows/records.ts';
import { runValues } from '../../rows/run-rows.ts';
import type {
  NewRun,
  NewTask,
  PushAnswer,
  TriggerAnswer,
  TriggerFiring,
  TriggerRunning,
  TriggerStore,
} from '../../store.ts';
import type { Session } from '../connect/database.ts';
import { pick } from '../places.ts';
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
import { pushKeyed, waves } from '../verbs/queue/push.ts';
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
    triggerRun: async (params) =>
      (await calls.edit('triggerRun', (session) => runNow(parts, session, params))) ?? undefined,
    triggerFires: ({ name, limit }) => calls.run((session) => listFires(session, name, limit)),
  };
}

/** The trigger moves on by compare-and-set, and each task has its fire time as unique key: no fire time fires twice. */
async function fire(parts: StoreParts, firing: TriggerFiring): Promise<TriggerAnswer> {
  const { calls, hints } = parts;
  const answer = await calls.transaction(async (session): Promise<TriggerAnswer> => {
    await requireDuty(session, firing.duty);
    const moved = await session.rows('triggerMove', [firing.nextAt, firing.name, firing.from, firing.payload ?? null]);
    if (moved.length === 0) return { moved: false, pushed: [] };
    const pushed = await push(parts, session, firing.items);
    await addRuns(session, pushed, firing.runs ?? []);
    const lines = linesOf(firing, pushed);
    const count = lines.length === 0 ? undefined : await countFires(session, firing.name, lines.length);
    if (count !== undefined) await noteFires(session, firing.name, count, lines);
    return { moved: true, pushed };
  });
  hints.pushed(firing.items, answer.pushed);
  return answer;
}

/** Its answer is kept as JSON. */
async function runNow(
  parts: StoreParts,
  session: Session,
  { name, item, run }: TriggerRunning,
): Promise<PushAnswer | null> {
  const count = await countFires(session, name, 1);
  if (count === undefined) return null;
  const [answer] = (await push(parts, session, [item])) as [PushAnswer];
  await addRuns(session, [answer], run === undefined ? [] : [run]);
  await noteFires(session, name, count, [fireLine(count.now, 'run', answer)]);
  return answer;
}

/** Of new tasks: one that was there already has its run. */
async function addRuns(session: Session, pushed: readonly PushAnswer[], runs: readonly NewRun[]): Promise<void> {
  for (const [i, run] of runs.entries()) {
    const answer = pushed[i];
    if (answer?.ok !== true || !answer.fresh) continue;
    await session.rows('runAdd', [answer.task, answer.createdAt, ...runValues(run)]);
  }
}

async function push(parts: StoreParts, session: Session, items: readonly NewTask[]): Promise<readonly PushAnswer[]> {
  const { dedup, lanes } = parts;
  await lanes.need(
    session,
    items.map(({ lane }) => lane),
  );
  const pushed: PushAnswer[] = [];
  for (const wave of waves(items, ({ lane }) => lanes.known(lane)?.queueId ?? 0)) {
    const given = await pushKeyed(session, parts, dedup.next(), pick(items, wave));
    for (const [at, i] of wave.entries()) pushed[i] = given[at] as PushAnswer;
  }
  return pushed;
}
