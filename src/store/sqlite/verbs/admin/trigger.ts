import { type TriggerRow, triggerOf } from '../../../rows/records.ts';
import type { DueTriggers, NewTrigger, TriggerAnswer, TriggerFiring, TriggerRecord } from '../../../store.ts';
import type { Prepared } from '../../file/connection.ts';
import type { Transaction } from '../../file/transaction.ts';
import { pushTasks } from '../queue/push.ts';

export function putTrigger(tx: Transaction, t: NewTrigger): number {
  const row = tx.sql
    .get('triggerPut')
    .get(t.name, t.lane, t.spec, t.cron, t.timezone, t.missed, 0 - t.priority, t.maxTries, t.payload, t.nextAt);
  return (row as { next_at: number }).next_at;
}

export function listTriggers(sql: Prepared): readonly TriggerRecord[] {
  return (sql.get('triggerList').all() as unknown as TriggerRow[]).map(recordOf);
}

export function dueTriggers(sql: Prepared, now: number, limit: number): DueTriggers {
  const rows = sql.get('triggerDue').all(now, limit) as unknown as TriggerRow[];
  const next = sql.get('triggerNext').get(now) as { at: number | null };
  return {
    now,
    triggers: rows.map(recordOf),
    nextInMs: next.at === null ? undefined : Math.max(0, next.at - now),
  };
}

/** The earliest fire time of all triggers. */
export function firstFireTime(sql: Prepared): number | undefined {
  return (sql.get('triggerFirst').get() as { at: number | null }).at ?? undefined;
}

/** The trigger moves on by compare-and-set, and each task has its fire time as unique key: no fire time fires twice. */
export function fireTrigger(tx: Transaction, firing: TriggerFiring): TriggerAnswer {
  const { changes } = tx.sql.get('triggerMove').run(firing.nextAt, firing.name, firing.from);
  return changes === 0 ? { moved: false, pushed: [] } : { moved: true, pushed: pushTasks(tx, firing.items) };
}

const recordOf = (row: TriggerRow): TriggerRecord => triggerOf(row, 0 - row.prio);
