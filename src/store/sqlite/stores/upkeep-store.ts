import type { Drift, DutyTerm, ExpireAnswer, StageAnswer, UpkeepStore } from '../../store.ts';
import { recount, recountApart, repair } from '../verbs/admin/audit.ts';
import { requireDuty } from '../verbs/admin/duty.ts';
import { prune } from '../verbs/admin/prune.ts';
import { expireNext, expireTasks, msUntil, stageNext, stageTasks } from '../verbs/queue/stage.ts';
import type { StoreParts } from './store-parts.ts';

/** Counters of fewer tasks than this are recounted in a few milliseconds. */
const MANY_TASKS = 20_000;

export function upkeepStore(parts: StoreParts): UpkeepStore {
  return {
    taskStage: ({ duty, limit }) => stage(parts, duty, limit),
    taskExpire: ({ duty, limit }) => expire(parts, duty, limit),
    taskPrune: (query) => parts.writer.write('rest', (tx) => prune(tx, query, requireDuty(tx, query.duty))),
    statsAudit: ({ duty }) => audit(parts, duty),
  };
}

async function stage({ calls, writer }: StoreParts, duty: DutyTerm, limit: number): Promise<StageAnswer> {
  const next = await calls.dutyLook(duty, 'stageNext', stageNext);
  const now = writer.clock.calendar();
  if (next === undefined || (next > now && !writer.clockWasSet)) {
    return { staged: 0, lanes: [], nextInMs: msUntil(next, now) };
  }
  return writer.write('stage', (tx) => {
    requireDuty(tx, duty);
    return stageTasks(tx, limit);
  });
}

async function expire({ calls, writer }: StoreParts, duty: DutyTerm, limit: number): Promise<ExpireAnswer> {
  const next = await calls.dutyLook(duty, 'expireNext', expireNext);
  const now = writer.clock.calendar();
  if (next === undefined || (next > now && !writer.clockWasSet)) return { expired: 0, nextInMs: msUntil(next, now) };
  return calls.waking('stage', (tx) => {
    requireDuty(tx, duty);
    return expireTasks(tx, limit);
  });
}

async function audit({ housekeeper, writer }: StoreParts, duty: DutyTerm): Promise<readonly Drift[]> {
  // A deposed holder is refused, whether there is something to repair or not, and causes no recount.
  await writer.read((connection) => requireDuty(connection, duty));
  // Without the thread a long recount blocks the loop, but it is made. A short one is not worth a thread.
  const many = await writer.read(
    ({ sql }) => ((sql.get('taskMax').get() as { id: number | null }).id ?? 0) > MANY_TASKS,
  );
  const early = many ? await housekeeper?.recount().catch(() => undefined) : await writer.read(recountApart);
  if (early?.length === 0) return [];
  return writer.write('rest', (tx) => {
    requireDuty(tx, duty);
    const drifts = early ?? recount(tx.sql);
    repair(tx.sql, drifts);
    return drifts.map(({ name, state, counted, kept }) => ({ queue: name, state, counted, kept }));
  });
}
