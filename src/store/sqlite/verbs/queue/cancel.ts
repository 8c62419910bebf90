import { isFinal, type Reason, STATES, type TaskState } from '../../../../core/task/task.ts';
import { type Outcome, RESULT_APART, reasonCode, WATCHED } from '../../../codes.ts';
import type { CancelAnswer, ReviveAnswer, ReviveParams } from '../../../store.ts';
import { dropResult, resultOf } from '../../body.ts';
import type { Transaction } from '../../file/transaction.ts';
import { countDown } from '../trees/countdown.ts';
import { forgetEntry } from '../trees/journal.ts';
import { recordAttempt } from './settle.ts';

interface TaskRow {
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
  readonly root: number | null;
}

/** Cancels tasks that do not run. A running task gets a request, which its worker sees at the next renewal. */
export function cancelTasks(
  tx: Transaction,
  tasks: readonly number[],
  reason: Reason = 'requested',
): readonly CancelAnswer[] {
  const watched: number[] = [];
  const answers = tasks.map((task) => cancelTask(tx, task, reason, watched));
  // After all of them: a task that is named here was cancelled by its own number.
  for (const task of watched) countDown(tx, task, 'cancelled');
  return answers;
}

function cancelTask(tx: Transaction, task: number, reason: Reason, watched: number[]): CancelAnswer {
  const row = tx.sql.get('taskStand').get(task) as TaskRow | undefined;
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
  tx.sql.get('cancelIdle').run(reasonCode(reason), tx.now, tx.now, task);
  // No signal may be spent on it.
  if (state === 'waiting') tx.sql.get('waitDrop').run(task);
  tx.ledger.note(queue, 'cancelled', state, 'cancelled', task, row.attempt, row.created_at);
  if (row.flags & WATCHED) watched.push(task);
  return 'cancelled';
}

/**
 * The only way out of a final state. A task that depends on unfinished ones, or on others that are revived with it,
 * waits for them.
 */
export function reviveTasks(tx: Transaction, { tasks, forget = [] }: ReviveParams): readonly ReviveAnswer[] {
  const revived: Revived[] = [];
  const answers = tasks.map((task) => reviveTask(tx, task, revived));
  for (const { task, from, lane, attempt, created_at } of revived) {
    const open = waitAgain(tx, task, attempt);
    if (open > 0) tx.sql.get('reviveWaiting').run(open, task);
    const to = open > 0 ? 'waiting' : 'ready';
    tx.ledger.note(tx.laneOf(lane).queue, 'revived', from, to, task, attempt, created_at);
  }
  const again = new Set(revived.map(({ task }) => task));
  for (const { task, key } of forget) if (again.has(task)) forgetEntry(tx, task, key);
  return answers;
}

interface Revived extends TaskRow {
  readonly task: number;
  readonly from: TaskState;
}

/** The attempt that ended the task moves to `attempt`, so that a repeat of its end is recognized. */
function reviveTask(tx: Transaction, task: number, revived: Revived[]): ReviveAnswer {
  const row = tx.sql.get('taskStand').get(task) as TaskRow | undefined;
  if (row === undefined) return { ok: false, state: undefined };
  const state = STATES[row.state] as TaskState;
  if (!isFinal(state)) return { ok: false, state };
  // A part of its tree may be gone already.
  if (tx.sql.get('treeGoing').get(row.root ?? task) !== undefined) return { ok: false, state: undefined };
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
  tx.sql.get('revive').run(tx.now, task);
  // The outcome of a wait was delivered, and may not be in the journal yet.
  tx.sql.get('waitDropOpen').run(task);
  // Its attempt is still the one that parked for them: their ends would wake it.
  tx.sql.get('depForget').run(task);
  // Who asked for its end is about the end that it had.
  if (row.root === null) tx.sql.get('runUnnote').run(task);
  if (row.flags & RESULT_APART) dropResult(tx.sql, task);
  // Its dependents wait for its next end.
  if (row.flags & WATCHED) tx.sql.get('carryDrop').run(task);
  revived.push({ ...row, task, from: state });
  return { ok: true, lane: row.lane };
}

/** How many of the tasks that it depends on are unfinished. Their ends will wake it. */
function waitAgain(tx: Transaction, task: number, attempt: number): number {
  const rows = tx.sql.get('depReopen').all(attempt, task) as unknown as { up: number; open: number }[];
  const open = rows.filter((row) => row.open === 1);
  for (const { up } of open) tx.sql.get('depWatch').run(up);
  return open.length;
}
