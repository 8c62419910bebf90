import type { MissedPolicy } from '../../../core/schedule.ts';
import type { DueTriggers, NewTrigger, TriggerRecord } from '../../store.ts';
import type { Session } from '../database.ts';
import { prioOf, priorityOf } from '../prio.ts';

interface TriggerRow {
  readonly name: string;
  readonly lane: number;
  readonly spec: number;
  readonly cron: string;
  readonly timezone: string;
  readonly missed: string;
  readonly prio: number;
  readonly max_tries: number;
  readonly payload: string;
  readonly next_at: number;
  readonly queue: string;
  readonly handler: string;
}

export async function putTrigger(session: Session, t: NewTrigger): Promise<number> {
  const [row] = await session.all<{ next_at: number }>('triggerPut', [
    t.name,
    t.lane,
    t.spec,
    t.cron,
    t.timezone,
    t.missed,
    prioOf(t.priority),
    t.maxTries,
    t.payload,
    t.nextAt,
  ]);
  return (row as { next_at: number }).next_at;
}

export async function listTriggers(session: Session): Promise<readonly TriggerRecord[]> {
  return (await session.all<TriggerRow>('triggerList', [])).map(triggerOf);
}

export async function dueTriggers(session: Session, limit: number): Promise<DueTriggers> {
  const [{ now } = { now: 0 }] = await session.all<{ now: number }>('now', []);
  const rows = await session.all<TriggerRow>('triggerDue', [now, limit]);
  const [next] = await session.all<{ at: number | null }>('triggerNext', [now]);
  const at = next?.at ?? undefined;
  return { now, triggers: rows.map(triggerOf), nextInMs: at === undefined ? undefined : Math.max(0, at - now) };
}

function triggerOf(row: TriggerRow): TriggerRecord {
  return {
    name: row.name,
    lane: row.lane,
    spec: row.spec,
    cron: row.cron,
    timezone: row.timezone,
    missed: row.missed as MissedPolicy,
    priority: priorityOf(row.prio),
    maxTries: row.max_tries,
    payload: row.payload,
    nextAt: row.next_at,
    queue: row.queue,
    handler: row.handler,
  };
}
