import type { Drift, DutyTerm, ExpireAnswer, StageAnswer, UpkeepStore } from '../../store.ts';
import { recount, repair } from '../verbs/admin/audit.ts';
import { requireDuty, requireRow } from '../verbs/admin/duty.ts';
import { prune } from '../verbs/admin/prune.ts';
import { dutyLook, expireTasks, stageTasks } from '../verbs/queue/stage.ts';
import type { StoreParts } from './store-parts.ts';

const AUDIT_MS = 10 * 60_000;

export function upkeepStore(parts: StoreParts): UpkeepStore {
  return {
    taskStage: ({ duty, limit }) => stage(parts, duty, limit),
    taskExpire: ({ duty, limit }) => expire(parts, duty, limit),
    taskPrune: (query) => prune(parts, query),
    statsAudit: ({ duty }) => audit(parts, duty),
  };
}

async function stage({ calls, hints }: StoreParts, duty: DutyTerm, limit: number): Promise<StageAnswer> {
  const inMs = await calls.run((session) => dutyLook(session, 'stageLook', duty));
  if (inMs === undefined || inMs > 0) return { staged: 0, lanes: [], nextInMs: inMs };
  const answer = await calls.run((session) => stageTasks(session, duty, limit));
  hints.ready(answer.lanes);
  return answer;
}

async function expire({ calls }: StoreParts, duty: DutyTerm, limit: number): Promise<ExpireAnswer> {
  const inMs = await calls.run((session) => dutyLook(session, 'expireLook', duty));
  if (inMs === undefined || inMs > 0) return { expired: 0, nextInMs: inMs };
  const { expired, nextInMs, more } = await calls.run((session) => expireTasks(session, duty, limit));
  if (!more) return { expired, nextInMs };
  const rest = await calls.waking((session, woken) => expireTasks(session, duty, limit, woken));
  return { expired: expired + rest.expired, nextInMs: rest.nextInMs };
}

async function audit({ database }: StoreParts, duty: DutyTerm): Promise<readonly Drift[]> {
  const long = { deadlineMs: AUDIT_MS };
  const patient = "SET LOCAL statement_timeout = '10min'";
  // Without a lock: on a large store it takes a while, and the duty must be renewed meanwhile. Mostly it finds nothing.
  const found = await database.transaction(async (session) => {
    await session.raw(patient);
    const drifts = await recount(session);
    await requireDuty(session, duty);
    return drifts;
  }, long);
  if (found.length === 0) return [];
  // Again under the lock of the duty: two recounts that find the same difference must not both add it.
  return database.transaction(async (session) => {
    await session.raw(patient);
    const [held] = await session.all('dutyAlone', [duty.name, duty.epoch]);
    requireRow(duty, held);
    return repair(session, await recount(session));
  }, long);
}
