import { type TriggerRow, triggerOf } from '../../../rows/records.ts';
import type { DueTriggers, NewTrigger, TriggerRecord } from '../../../store.ts';
import type { Session } from '../../connect/database.ts';
import { prioOf, priorityOf } from '../../prio.ts';

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
  return (await session.all<TriggerRow>('triggerList', [])).map(recordOf);
}

export async function dueTriggers(session: Session, limit: number): Promise<DueTriggers> {
  const [{ now, at: first } = { now: 0, at: null }] = await session.all<{ now: number; at: number | null }>(
    'triggerFirst',
    [],
  );
  if (first === null || first > now) return { now, triggers: [], nextInMs: first === null ? undefined : first - now };
  const rows = await session.all<TriggerRow>('triggerDue', [now, limit]);
  const [next] = await session.all<{ at: number | null }>('triggerNext', [now]);
  const at = next?.at ?? undefined;
  return { now, triggers: rows.map(recordOf), nextInMs: at === undefined ? undefined : Math.max(0, at - now) };
}

const recordOf = (row: TriggerRow): TriggerRecord => triggerOf(row, priorityOf(row.prio));
