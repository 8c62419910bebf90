import { isFinal, STATES, type TaskState } from '../../../core/task.ts';
import { type Outcome, RESULT_APART } from '../../codes.ts';
import type { CancelAnswer, ReviveAnswer } from '../../store.ts';
import { dropResult, resultOf } from '../body.ts';
import type { Transaction } from '../transaction.ts';
import { recordAttempt } from './settle.ts';

interface Stand {
  readonly state: number;
  readonly lane: number;
  readonly attempt: number;
  readonly created_at: number;
  readonly holder: number | null;
  readonly started_at: number | null;
  readonly ended_at: number | null;
  readonly flags: number;
  readonly result: string | null;
  readonly cancel_at: number | null;
}

/** What does not run ends at once; what runs is asked, and its worker hears of it at the next renewal. */
export function cancelTask(tx: Transaction, task: number): CancelAnswer {
  const row = tx.sql.get('taskStand').get(task) as Stand | undefined;
  if (row === undefined) return 'unknown';
  const state = STATES[row.state] as TaskState;
  if (isFinal(state)) return 'finished';
  const queue = tx.laneOf(row.lane).queue;
  if (state === 'running') {
    tx.sql.get('cancelAsk').run(tx.now, task);
    if (row.cancel_at === null) {
      tx.ledger.note(queue, 'cancel_requested', state, state, task, row.attempt, row.created_at);
    }
    return 'requested';
  }
  tx.sql.get('cancelIdle').run(tx.now, tx.now, task);
  tx.ledger.note(queue, 'cancelled', state, 'cancelled', task, row.attempt, row.created_at);
  return 'cancelled';
}

/** The only way out of a final state. The attempt that ended the task moves to `attempt`, so that a repeat is known again. */
export function reviveTask(tx: Transaction, task: number): ReviveAnswer {
  const row = tx.sql.get('taskStand').get(task) as Stand | undefined;
  if (row === undefined) return { ok: false, state: undefined };
  const state = STATES[row.state] as TaskState;
  if (!isFinal(state)) return { ok: false, state };
  if (row.attempt > 0 && tx.sql.get('attemptEnded').get(task, row.attempt) === undefined) {
    const error = state !== 'completed' ? resultOf(tx.sql, task, row.flags, row.result) : undefined;
    recordAttempt(
      tx,
      task,
      row.attempt,
      row.holder,
      row.started_at,
      state satisfies Outcome,
      error,
      row.ended_at ?? tx.now,
    );
  }
  tx.sql.get('revive').run(task);
  if (row.flags & RESULT_APART) dropResult(tx.sql, task);
  tx.ledger.note(tx.laneOf(row.lane).queue, 'revived', state, 'ready', task, row.attempt, row.created_at);
  return { ok: true, lane: row.lane };
}
