import { STATES, type TaskState } from '../../../../core/task/task.ts';
import { WATCHED } from '../../../codes.ts';
import type { ExpireAnswer, StageAnswer } from '../../../store.ts';
import type { Prepared } from '../../file/connection.ts';
import type { Transaction } from '../../file/transaction.ts';
import { countDown } from '../trees/countdown.ts';

/** Due tasks, and waiting tasks whose deadline has passed. */
export function stageTasks(tx: Transaction, limit: number): StageAnswer {
  const due = tx.sql.get('stageLook').all(tx.now, limit) as unknown as {
    id: number;
    lane: number;
    state: number;
    attempt: number;
    created_at: number;
  }[];
  const lanes = new Set<number>();
  let staged = 0;
  for (const row of due) {
    if (tx.sql.get('stageOne').run(row.id).changes === 0) continue;
    const { queue } = tx.laneOf(row.lane);
    if (STATES[row.state] === 'waiting') {
      tx.sql.get('waitTimeOut').run(row.id);
      tx.ledger.note(queue, 'woken', 'waiting', 'ready', row.id, row.attempt, row.created_at);
    } else {
      tx.ledger.note(queue, 'staged', 'scheduled', 'ready', row.id, row.attempt, row.created_at);
    }
    lanes.add(row.lane);
    staged++;
  }
  return { staged, lanes: [...lanes], nextInMs: msUntil(stageNext(tx.sql), tx.now) };
}

/** When the next task is due, in calendar time. */
export function stageNext(sql: Prepared): number | undefined {
  return (sql.get('stageNext').get() as { run_at: number } | undefined)?.run_at;
}

/** Only tasks that were never claimed expire. */
export function expireTasks(tx: Transaction, limit: number): ExpireAnswer {
  const late = tx.sql.get('expireLook').all(tx.now, limit) as unknown as {
    id: number;
    lane: number;
    state: number;
    created_at: number;
    flags: number;
  }[];
  // Tasks that became ready in this transaction: that event comes first.
  tx.ledger.seal();
  let expired = 0;
  for (const row of late) {
    if (tx.sql.get('expireOne').run(tx.now, row.id).changes === 0) continue;
    const from = STATES[row.state] as TaskState;
    tx.ledger.note(tx.laneOf(row.lane).queue, 'timed_out', from, 'failed', row.id, 0, row.created_at);
    if (row.flags & WATCHED) countDown(tx, row.id, 'failed');
    expired++;
  }
  return { expired, nextInMs: msUntil(expireNext(tx.sql), tx.now) };
}

/** When the next wait timeout passes, in calendar time. */
export function expireNext(sql: Prepared): number | undefined {
  return (sql.get('expireNext').get() as { expires_at: number } | undefined)?.expires_at;
}

export function msUntil(at: number | undefined, now: number): number | undefined {
  return at === undefined ? undefined : Math.max(0, at - now);
}
