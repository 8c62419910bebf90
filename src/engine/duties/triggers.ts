import { fault } from '../../core/errors.ts';
import { checkName } from '../../core/names.ts';
import { MISSED_POLICIES, type MissedPolicy } from '../../core/schedule/due.ts';
import { expressionOf, fireTimesOf, type ScheduleTimes } from '../../core/schedule/expression.ts';
import type { TriggerRecord } from '../../store/store.ts';
import type { Engine } from '../engine.ts';
import { draft, type PushRequest } from '../push/push.ts';

/** A task that is pushed at each fire time of a schedule. */
export interface TriggerRequest
  extends ScheduleTimes,
    Pick<PushRequest, 'queue' | 'handler' | 'input' | 'priority' | 'maxAttempts' | 'retry' | 'timeout'> {
  readonly name: string;
  /** An IANA name; default UTC. */
  readonly timezone?: string;
  /** What becomes of fire times that passed while nobody could fire them; default `latest`. */
  readonly missed?: MissedPolicy;
}

/** Answers the next fire time. A trigger whose schedule did not change keeps its next one. */
export async function putTrigger(engine: Engine, request: TriggerRequest): Promise<number> {
  const { name, cron, every, from, at, daily, weekly, monthly, timezone = 'UTC', missed = 'latest', ...rest } = request;
  checkName('trigger', name);
  if (!MISSED_POLICIES.includes(missed)) {
    throw fault('INVALID_INPUT', { field: 'missed', problem: `it is one of ${MISSED_POLICIES.join(', ')}` });
  }
  const checked = draft(rest, engine.retentionMs);
  const expression = expressionOf({ cron, every, from, at, daily, weekly, monthly }, timezone);
  const next = fireTimesOf(expression, timezone);
  const { now } = await engine.store.triggerDue({ limit: 0 });
  const nextAt = next(now);
  if (nextAt === undefined) {
    throw fault('INVALID_INPUT', { field: 'schedule', problem: `${expression} lies in the past` });
  }
  return engine.store.triggerPut({
    trigger: {
      name,
      cron: expression,
      timezone,
      missed,
      nextAt,
      lane: await engine.interner.lane(checked),
      spec: await engine.interner.spec(checked.specBody),
      priority: checked.task.priority,
      maxTries: checked.task.maxTries,
      payload: checked.task.payload,
    },
  });
}

export async function removeTrigger(engine: Engine, name: string): Promise<void> {
  checkName('trigger', name);
  if (!(await engine.store.triggerRemove({ name }))) throw fault('NOT_FOUND', { kind: 'trigger', id: name });
}

export function listTriggers(engine: Engine): Promise<readonly TriggerRecord[]> {
  return engine.store.triggerList();
}
