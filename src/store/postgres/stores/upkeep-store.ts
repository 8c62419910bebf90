import type { Drift, DutyTerm, ExpireAnswer, StageAnswer, UpkeepStore } from '../../store.ts';
import { recount, repair } from '../verbs/admin/audit.ts';
import { ClockSteps, followClock } from '../verbs/admin/clock-steps.ts';
import { requireDuty, requireRow } from '../verbs/admin/duty.ts';
import { prune } from '../verbs/admin/prune.ts';
import { expireLook, expireTasks, stageLook, stageTasks } from '../verbs/queue/stage.ts';
import type { StoreParts } from './store-parts.ts';

/** For what reads or writes a large part of the store, and is rare. */
const LONG = { deadlineMs: 10 * 60_000 };
const PATIENT = "SET LOCAL statement_timeout = '10min'";

export function upkeepStore(parts: StoreParts): UpkeepStore {
  const steps = new ClockSteps(parts.world.clock);
  return {
    taskStage: ({ duty, limit }) => stage(parts, steps, duty, limit),
    taskExpire: ({ duty, limit }) => expire(parts, duty, limit),
    taskPrune: (query) => prune(parts, query),
    statsAudit: ({ duty }) => audit(parts, duty),
  };
}

async function stage(parts: StoreParts, steps: ClockSteps, duty: DutyTerm, limit: number): Promise<StageAnswer> {
  const { calls, hints } = parts;
  const inMs = await lookForDue(parts, steps, duty);
  if (inMs === undefined || inMs > 0) return { staged: 0, lanes: [], nextInMs: inMs };
  const answer = await calls.run((session) => stageTasks(session, duty, limit));
  hints.ready(answer.lanes);
  return answer;
}

/** How long until a task is due, by a clock that nobody has set back. */
async function lookForDue(
  { calls, database, hints }: StoreParts,
  steps: ClockSteps,
  duty: DutyTerm,
): Promise<number | undefined> {
  const ask = (): ReturnType<typeof stageLook> => calls.run((session) => stageLook(session, duty));
  const { look, step } = await steps.follow(duty, ask);
  if (step === undefined) return look.next ?? undefined;
  await database.transaction(async (session) => {
    await session.raw(PATIENT);
    await followClock(session, duty, step);
  }, LONG);
  // A rate or a pause may have ended.
  hints.everything();
  return (await steps.follow(duty, ask)).look.next ?? undefined;
}

async function expire({ calls }: StoreParts, duty: DutyTerm, limit: number): Promise<ExpireAnswer> {
  const inMs = await calls.run((session) => expireLook(session, duty));
  if (inMs === undefined || inMs > 0) return { expired: 0, nextInMs: inMs };
  const { expired, nextInMs, more } = await calls.run((session) => expireTasks(session, duty, limit));
  if (!more) return { expired, nextInMs };
  const rest = await calls.waking((session, woken) => expireTasks(session, duty, limit, woken));
  return { expired: expired + rest.expired, nextInMs: rest.nextInMs };
}

async function audit({ database }: StoreParts, duty: DutyTerm): Promise<readonly Drift[]> {
  // Without a lock: on a large store it takes a while, and the duty must be renewed meanwhile. Mostly it finds nothing.
  const found = await database.transaction(async (session) => {
    await session.raw(PATIENT);
    const drifts = await recount(session);
    await requireDuty(session, duty);
    return drifts;
  }, LONG);
  if (found.length === 0) return [];
  // Again under the lock of the duty: two recounts that find the same difference must not both add it.
  return database.transaction(async (session) => {
    await session.raw(PATIENT);
    const [held] = await session.all('dutyAlone', [duty.name, duty.epoch]);
    requireRow(duty, held);
    return repair(session, await recount(session));
  }, LONG);
}
