import type { Lease } from '../../../../core/task/lease.ts';
import { METERED } from '../../../codes.ts';
import { eachChannel, othersText, type WaitRow, waitOf } from '../../../rows/wait-rows.ts';
import type { Park, WaitRecord } from '../../../store.ts';
import { needOf, type ParkItem, wokenBy } from '../../../turns.ts';
import type { Prepared } from '../../file/connection.ts';
import type { Transaction } from '../../file/transaction.ts';
import { recordAttempt } from '../queue/settle.ts';
import { giveBack } from './budget.ts';

/** The row of the task of a turn. */
export interface Running {
  readonly lane: number;
  readonly created_at: number;
  readonly holder: number | null;
  readonly started_at: number | null;
  readonly cancel_at: number | null;
  readonly root: number | null;
  readonly flags: number;
}

export type Parked =
  | { readonly went: 'parked' }
  | { readonly went: 'woken'; readonly body?: string | undefined; readonly key?: string | undefined };

/** A later wait of this attempt has come already: this one is a repeat whose answer had arrived. */
export function isLate(tx: Transaction, { task, attempt }: Lease, { nth = 0 }: Park): boolean {
  return tx.sql.get('waitLater').get(task, attempt, nth) !== undefined;
}

/** Reads hold for the writes that follow them: this transaction is the only writer. */
export function parkTask(tx: Transaction, item: ParkItem, row: Running): Parked {
  const { task } = item;
  const there = alreadyThere(tx, item);
  if (there !== undefined) return there;
  const open = openChildren(tx, item);
  if (open === 0) return { went: 'woken' };
  beginWait(tx, item, row, open ?? 0);
  if (row.flags & METERED) giveBack(tx, task);
  return { went: 'parked' };
}

/** Whatever was sent there before. */
export function beginWait(tx: Transaction, item: ParkItem, row: Running, open = 0): void {
  const { task, attempt } = item;
  const deadline = item.timeoutMs === undefined ? null : tx.now + item.timeoutMs;
  tx.sql.get('parkTask').run(deadline, open, task, attempt);
  putWait(tx, item, deadline, 0, othersText(item));
  recordAttempt(tx, task, attempt, row.holder, row.started_at, 'parked');
  const { queue, uses } = tx.laneOf(row.lane);
  tx.counters.give(uses);
  tx.ledger.note(queue, 'parked', 'running', 'waiting', task, attempt, row.created_at);
}

/** A signal that came before, or the one that an earlier try of this call had taken when its answer was lost. */
function alreadyThere(tx: Transaction, item: ParkItem): Parked | undefined {
  const { task, attempt } = item;
  const channels = eachChannel(item);
  if (channels.length === 0) return undefined;
  const taken = tx.sql.get('waitTaken').get(task, attempt) as { key: string; body: string | null } | undefined;
  if (channels.some(({ key }) => key === taken?.key))
    return wokenBy(item, taken as { key: string; body: string | null });
  for (const one of channels) {
    // A decision is made when it is asked for: whatever was kept under the channel is none.
    if (one.form !== undefined) continue;
    const signal = tx.sql.get('signalTake').get(one.channel) as { body: string } | undefined;
    if (signal === undefined) continue;
    // Stored with the wait, so that the next attempt finds it after a crash.
    putWait(tx, one, null, 1, signal.body);
    return wokenBy(item, { key: one.key, body: signal.body });
  }
  return undefined;
}

/** How many ends it waits for; undefined: none. From here on the ends of its children count. */
function openChildren(tx: Transaction, { task, attempt, children, need }: ParkItem): number | undefined {
  if (children === undefined) return undefined;
  const { open, ends } = needOf(children, need, (child) => tx.sql.get('parkChild').get(child) !== undefined);
  if (ends <= 0) return 0;
  for (const child of open) {
    tx.sql.get('parkWatch').run(child);
    tx.sql.get('parkDep').run(child, task, attempt);
  }
  return ends;
}

function putWait(tx: Transaction, item: ParkItem, deadline: number | null, state: number, body: string | null): void {
  const { task, attempt, nth = 0, key, channel, form } = item;
  tx.sql.get('waitPut').run(task, attempt, nth, key, channel ?? null, form ?? null, tx.now, deadline, state, body);
}

export function getWait(sql: Prepared, task: number): WaitRecord | undefined {
  const row = sql.get('waitGet').get(task) as WaitRow | undefined;
  return row && waitOf(row);
}

export function listWaits(sql: Prepared, limit: number): readonly WaitRecord[] {
  return (sql.get('waitList').all(limit) as unknown as WaitRow[]).map(waitOf);
}
