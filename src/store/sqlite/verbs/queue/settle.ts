import { isCut } from '../../../../core/limits/budget.ts';
import { STATES } from '../../../../core/task/task.ts';
import {
  AT_TIME,
  fitsInline,
  METERED,
  OUTCOMES,
  type Outcome,
  RESULT_APART,
  reasonCode,
  SUSPECT,
  stateCode,
  WATCHED,
} from '../../../codes.ts';
import type { ReturnItem, SettleAnswer, SettleItem, TaskHint } from '../../../store.ts';
import { putResult } from '../../body.ts';
import type { Transaction } from '../../file/transaction.ts';
import { pauseFor } from '../admin/limit.ts';
import { giveBack } from '../trees/budget.ts';
import { countDown } from '../trees/countdown.ts';

/** Shorter runs are not worth the look before. */
const MIN_RUN = 4;

/** Plain ends of tasks with consecutive numbers, as a worker that claimed them together has, are one write. */
export function settleTasks(tx: Transaction, items: readonly SettleItem[]): readonly SettleAnswer[] {
  const answers: SettleAnswer[] = [];
  for (let i = 0; i < items.length; ) {
    const end = runEnd(items, i);
    if (end - i < MIN_RUN || !settleRun(tx, items, i, end)) {
      for (; i < end; i++) answers.push(settleTask(tx, items[i] as SettleItem));
    }
    for (; i < end; i++) answers.push('done');
  }
  return answers;
}

/** Where the run from here ends: consecutive numbers that end alike, without a result. */
function runEnd(items: readonly SettleItem[], from: number): number {
  const { task, attempt, to, reason } = items[from] as SettleItem;
  let end = from;
  for (let item = items[end]; item !== undefined; item = items[++end]) {
    if (item.task !== task + (end - from) || item.attempt !== attempt || item.to !== to || item.reason !== reason)
      break;
    if (item.result !== undefined || item.hint === undefined) break;
  }
  return Math.max(end, from + 1);
}

/** False: one of them is lost, or something depends on it. Then each is settled by itself. */
function settleRun(tx: Transaction, items: readonly SettleItem[], from: number, end: number): boolean {
  const { task: first, attempt, to, reason } = items[from] as SettleItem;
  const last = first + (end - from) - 1;
  const { n } = tx.sql.get('settleHeld').get(first, last, attempt) as { n: number };
  if (n !== end - from) return false;
  tx.sql.get('settleMany').run(stateCode(to), reasonCode(reason), tx.now, first, last, attempt);
  for (let i = from; i < end; i++) {
    const { task, hint } = items[i] as SettleItem;
    const { lane, createdAt } = hint as TaskHint;
    const { queue, uses } = tx.laneOf(lane);
    if (uses.length > 0) tx.counters.give(uses);
    tx.ledger.note(queue, to, 'running', to, task, attempt, createdAt);
  }
  return true;
}

export function settleTask(tx: Transaction, item: SettleItem): SettleAnswer {
  const place = item.hint ?? placeOf(tx, item.task);
  if (place === undefined) return 'lost';
  const result = item.result ?? null;
  const inline = result === null || fitsInline(result);
  const values = [
    stateCode(item.to),
    reasonCode(item.reason),
    inline ? result : null,
    inline ? 0 : RESULT_APART,
    tx.now,
    item.task,
    item.attempt,
  ] as const;
  const fast = tx.sql.get('settleFast').run(...values).changes > 0;
  // The fast statement skips tasks that something depends on, and those with an allowance.
  const slow = fast ? undefined : (tx.sql.get('settleSlow').get(...values) as { flags: number } | undefined);
  if (!fast && slow === undefined) {
    return endedAs(tx, item.task, item.attempt, item.to) ? 'repeated' : 'lost';
  }
  if (!inline) putResult(tx.sql, item.task, result);
  const { queue, uses } = tx.laneOf(place.lane);
  tx.counters.give(uses);
  tx.ledger.note(queue, item.to, 'running', item.to, item.task, item.attempt, place.createdAt);
  if (slow !== undefined && slow.flags & WATCHED) countDown(tx, item.task, item.to);
  if (slow !== undefined && slow.flags & METERED) giveBack(tx, item.task, isCut(item.to));
  return 'done';
}

export function returnTask(tx: Transaction, item: ReturnItem): SettleAnswer {
  const row = tx.sql.get('returnLook').get(item.task, item.attempt) as
    | {
        lane: number;
        created_at: number;
        holder: number | null;
        started_at: number | null;
        bounces: number;
        cancel_at: number | null;
        flags: number;
      }
    | undefined;
  if (row === undefined) {
    if (endedAs(tx, item.task, item.attempt, item.change)) return 'repeated';
    return endedAs(tx, item.task, item.attempt, 'cancelled') ? 'cancelled' : 'lost';
  }
  const hint = { lane: row.lane, createdAt: row.created_at };
  if (row.cancel_at !== null) {
    // The error is kept with it.
    const end = { task: item.task, attempt: item.attempt, hint, to: 'cancelled', reason: 'requested' } as const;
    return settleTask(tx, { ...end, result: item.error }) === 'done' ? 'cancelled' : 'lost';
  }
  const to = item.delayMs > 0 ? 'scheduled' : 'ready';
  const { changes } = tx.sql.get('returnTask').run(
    stateCode(to),
    // Ready at once, or when it is due.
    tx.now + item.delayMs,
    item.refund ? 1 : 0,
    // A start resets the count. A task that was returned from the look-ahead neither started nor bounced.
    item.change === 'retried' ? 0 : row.bounces + (item.bounced ? 1 : 0),
    // A handler that ended has killed no worker. A task that was only returned stays suspect.
    (item.change === 'retried' ? SUSPECT : 0) | AT_TIME,
    item.task,
    item.attempt,
  );
  if (changes === 0) return 'lost';
  recordAttempt(tx, item.task, item.attempt, row.holder, row.started_at, item.change, item.error);
  const { queue, uses } = tx.laneOf(row.lane);
  tx.counters.give(uses);
  if (item.pause !== undefined) pauseFor(tx, uses, item.pause);
  tx.ledger.note(queue, item.change, 'running', to, item.task, item.attempt, row.created_at);
  if (row.flags & METERED) giveBack(tx, item.task, true);
  return 'done';
}

export function recordAttempt(
  tx: Transaction,
  task: number,
  attempt: number,
  holder: number | null,
  startedAt: number | null,
  outcome: Outcome,
  error?: string,
  endedAt = tx.now,
): void {
  tx.sql.get('attemptAdd').run(task, attempt, holder, startedAt, endedAt, OUTCOMES.indexOf(outcome), error ?? null);
}

/** Whether this attempt had ended the same way before: the caller repeats a call whose answer was lost. */
export function endedAs(tx: Transaction, task: number, attempt: number, outcome: Outcome): boolean {
  if (attempt < 1) return false; // a task that ended unclaimed was ended by no attempt
  // An attempt row decides: a task that the reaper failed was not failed by its worker.
  const row = tx.sql.get('attemptEnded').get(task, attempt) as { outcome: number } | undefined;
  if (row !== undefined) return OUTCOMES[row.outcome] === outcome;
  const ended = tx.sql.get('taskEnded').get(task, attempt) as { state: number } | undefined;
  return ended !== undefined && STATES[ended.state] === outcome;
}

function placeOf(tx: Transaction, task: number): TaskHint | undefined {
  const row = tx.sql.get('taskPlace').get(task) as { lane: number; created_at: number } | undefined;
  return row && { lane: row.lane, createdAt: row.created_at };
}
