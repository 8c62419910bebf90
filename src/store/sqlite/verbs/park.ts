import type { ParkAnswer, ParkItem, WaitRecord } from '../../store.ts';
import { type WaitRow, waitOf } from '../../wait-rows.ts';
import type { Prepared } from '../connection.ts';
import type { Transaction } from '../transaction.ts';
import { endedAs, recordAttempt, settleTask } from './settle.ts';

interface Running {
  readonly lane: number;
  readonly created_at: number;
  readonly holder: number | null;
  readonly started_at: number | null;
  readonly cancel_at: number | null;
}

/** The looks hold for the writes that follow them: this transaction is the only writer. */
export function parkTask(tx: Transaction, item: ParkItem): ParkAnswer {
  const { task, attempt } = item;
  const row = tx.sql.get('returnLook').get(task, attempt) as Running | undefined;
  if (row === undefined) {
    if (endedAs(tx, task, attempt, 'parked')) return { kind: 'parked' };
    return { kind: endedAs(tx, task, attempt, 'cancelled') ? 'cancelled' : 'lost' };
  }
  const hint = { lane: row.lane, createdAt: row.created_at };
  if (row.cancel_at !== null) {
    const answer = settleTask(tx, { task, attempt, hint, to: 'cancelled', reason: 'requested' });
    return { kind: answer === 'done' ? 'cancelled' : 'lost' };
  }
  // A later wait of this attempt has come already: this one was sent again by somebody who has had his answer.
  if (tx.sql.get('waitLater').get(task, attempt, item.turn ?? 0) !== undefined) return { kind: 'lost' };
  const there = alreadyThere(tx, item);
  if (there !== undefined) return there;
  const open = openChildren(tx, item);
  if (open === 0) return { kind: 'woken', body: undefined };
  const deadline = item.timeoutMs === undefined ? null : tx.now + item.timeoutMs;
  if (tx.sql.get('parkTask').run(deadline, open ?? 0, task, attempt).changes === 0) return { kind: 'lost' };
  putWait(tx, item, deadline, 0, null);
  recordAttempt(tx, task, attempt, row.holder, row.started_at, 'parked');
  const { queue, uses } = tx.laneOf(row.lane);
  tx.slots.give(uses);
  tx.ledger.note(queue, 'parked', 'running', 'waiting', task, attempt, row.created_at);
  return { kind: 'parked' };
}

/** A signal that came before, or the one that this very call had taken when its answer was lost. */
function alreadyThere(tx: Transaction, item: ParkItem): ParkAnswer | undefined {
  const { task, attempt, key, channel } = item;
  if (channel === undefined) return undefined;
  const taken = tx.sql.get('waitTaken').get(task, attempt, key) as { body: string | null } | undefined;
  if (taken !== undefined) return { kind: 'woken', body: taken.body ?? undefined };
  const signal = tx.sql.get('signalTake').get(channel) as { body: string } | undefined;
  if (signal === undefined) return undefined;
  // Kept with the wait: whoever comes after a crash finds it there.
  putWait(tx, item, null, 1, signal.body);
  return { kind: 'woken', body: signal.body };
}

/** How many ends it waits for; undefined: it waits for none. Its children know of it from here on. */
function openChildren(tx: Transaction, { task, attempt, children, any }: ParkItem): number | undefined {
  if (children === undefined) return undefined;
  const all = new Set(children);
  const open = [...all].filter((child) => tx.sql.get('parkChild').get(child) !== undefined);
  if (open.length === 0 || (any && open.length < all.size)) return 0;
  for (const child of open) {
    tx.sql.get('parkWatch').run(child);
    tx.sql.get('parkDep').run(child, task, attempt);
  }
  return any ? 1 : open.length;
}

function putWait(tx: Transaction, item: ParkItem, deadline: number | null, state: number, body: string | null): void {
  const { task, attempt, turn = 0, key, channel, form } = item;
  tx.sql.get('waitPut').run(task, attempt, turn, key, channel ?? null, form ?? null, tx.now, deadline, state, body);
}

export function getWait(sql: Prepared, task: number): WaitRecord | undefined {
  const row = sql.get('waitGet').get(task) as WaitRow | undefined;
  return row && waitOf(row);
}

export function listWaits(sql: Prepared, limit: number): readonly WaitRecord[] {
  return (sql.get('waitList').all(limit) as unknown as WaitRow[]).map(waitOf);
}
