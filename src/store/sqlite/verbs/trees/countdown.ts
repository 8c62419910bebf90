import type { FinalState } from '../../../../core/task/task.ts';
import { DOWN_BATCH, FAILS_AFTER, RUNS_AFTER, stateCode, stateOf, WATCHED } from '../../../codes.ts';
import type { CarryAnswer } from '../../../store.ts';
import type { Prepared } from '../../file/connection.ts';
import type { DependentWork, Transaction } from '../../file/transaction.ts';

interface Edge {
  readonly down: number;
  readonly gen: number;
  readonly optional: number;
  /** Null: the dependent is no longer kept. */
  readonly state: number | null;
  readonly attempt: number;
  readonly open: number;
  readonly flags: number;
  readonly lane: number;
  readonly created_at: number;
  readonly lease_until: number | null;
}

interface Ended {
  readonly task: number;
  readonly state: FinalState;
  readonly watched: boolean;
}

/** The lanes in which this transaction has woken tasks. */
export function wokenLanes(tx: Transaction): readonly number[] {
  return [...(tx.dependents?.lanes ?? [])];
}

/**
 * A task that others wait for has ended. Each dependent has one less to wait for, or ends too; those that end are
 * followed level by level. What is too much for one transaction is left to `depCarry`.
 */
export function countDown(tx: Transaction, task: number, state: FinalState): void {
  const work = (tx.dependents ??= { left: DOWN_BATCH, lanes: new Set(), carried: false });
  const ends: Ended[] = [{ task, state, watched: true }];
  // The list grows during the loop.
  for (const ended of ends) if (ended.watched) ends.push(...seeTo(tx, ended, work));
}

function seeTo(tx: Transaction, { task, state }: Ended, work: DependentWork): readonly Ended[] {
  const edges = tx.sql.get('depOpen').all(task, work.left) as unknown as Edge[];
  // Earlier events of these tasks in this transaction come first.
  tx.ledger.seal();
  const ended: Ended[] = [];
  for (const edge of edges) {
    const end = follow(tx, edge, state, work);
    if (end !== undefined) ended.push(end);
  }
  work.left -= edges.length;
  const last = edges.at(-1);
  if (last !== undefined) tx.sql.get('depClose').run(task, last.down);
  if (work.left === 0 && tx.sql.get('depLeft').get(task) !== undefined) {
    tx.sql.get('carryAdd').run(task, stateCode(state));
    work.carried = true;
  }
  return ended;
}

/** The end of the dependent, if it ends. */
function follow(tx: Transaction, edge: Edge, state: FinalState, work: DependentWork): Ended | undefined {
  // It no longer waits, or waits for something else.
  if (edge.state !== stateCode('waiting') || edge.attempt !== edge.gen) return undefined;
  const met = state === 'completed' || edge.optional === 1 || (edge.flags & RUNS_AFTER) !== 0;
  if (!met) return endAfter(tx, edge);
  if (edge.open > 1) tx.sql.get('downCount').run(edge.down);
  else wake(tx, edge, work);
  return undefined;
}

function wake(tx: Transaction, { down, lane, attempt, created_at, lease_until }: Edge, work: DependentWork): void {
  const due = Math.max(tx.now, lease_until ?? 0);
  const to = due > tx.now ? 'scheduled' : 'ready';
  tx.sql.get('downWake').run(stateCode(to), due, down);
  tx.ledger.note(tx.laneOf(lane).queue, 'woken', 'waiting', to, down, attempt, created_at);
  if (to === 'ready') work.lanes.add(lane);
}

/** Ends a task because something that it needs did not complete. */
export function endAfter(
  tx: Transaction,
  { down, flags, lane, attempt, created_at }: Pick<Edge, 'down' | 'flags' | 'lane' | 'attempt' | 'created_at'>,
): Ended {
  const to = flags & FAILS_AFTER ? 'failed' : 'cancelled';
  tx.sql.get('downEnd').run(stateCode(to), tx.now, down);
  tx.ledger.note(tx.laneOf(lane).queue, to, 'waiting', to, down, attempt, created_at);
  return { task: down, state: to, watched: (flags & WATCHED) !== 0 };
}

/** Goes on where earlier transactions have stopped. */
export function carryOn(tx: Transaction, limit: number): CarryAnswer {
  const work = (tx.dependents ??= { left: DOWN_BATCH, lanes: new Set(), carried: false });
  work.left = Math.min(work.left, limit);
  const before = work.left;
  for (let next = nextOf(tx); next !== undefined && work.left > 0; next = nextOf(tx)) {
    // What is left after this is added again.
    tx.sql.get('carryDrop').run(next.up);
    countDown(tx, next.up, stateOf(next.state) as FinalState);
  }
  return { carried: before - work.left, lanes: wokenLanes(tx), more: nextOf(tx) !== undefined };
}

/** Whether ended tasks have dependents left that were not counted down. */
export function hasToCarry(sql: Prepared): boolean {
  return sql.get('carryNext').get() !== undefined;
}

function nextOf(tx: Transaction): { readonly up: number; readonly state: number } | undefined {
  return tx.sql.get('carryNext').get() as { up: number; state: number } | undefined;
}
