import { ownerOf } from '../../../../core/task/channel.ts';
import { DOWN_BATCH } from '../../../codes.ts';
import { OP_MS, signalKey } from '../../../op-keys.ts';
import { othersIn } from '../../../rows/wait-rows.ts';
import type { NewSignal, SignalAnswer } from '../../../store.ts';
import type { Prepared } from '../../file/connection.ts';
import type { Transaction } from '../../file/transaction.ts';

interface OpenWait {
  readonly task: number;
  readonly gen: number;
}

export function keptSignals(sql: Prepared, channel: string): number {
  return (sql.get('signalKept').get(channel) as { readonly kept: number }).kept;
}

export function sendSignal(tx: Transaction, item: NewSignal): SignalAnswer {
  const { op } = item;
  if (op === undefined) return { woken: deliver(tx, item) };
  const kept = tx.sql.get('opFind').get(signalKey(op), tx.now) as { answer: string } | undefined;
  if (kept !== undefined) return { woken: JSON.parse(kept.answer) as number[] };
  const woken = deliver(tx, item);
  tx.sql.get('opPut').run(signalKey(op), JSON.stringify(woken), tx.now + OP_MS);
  return { woken };
}

/** Returns the tasks that it woke; none: it is kept. */
export function deliver(tx: Transaction, { channel, body, broadcast }: Omit<NewSignal, 'op'>): readonly number[] {
  if (broadcast) {
    const open = tx.sql.get('waitAll').all(channel) as unknown as OpenWait[];
    const woken = open.filter((wait) => wake(tx, wait, body)).map(({ task }) => task);
    return [...woken, ...wakeOwner(tx, channel, body)];
  }
  // Each round closes one open wait.
  for (;;) {
    const wait = tx.sql.get('waitOldest').get(channel) as OpenWait | undefined;
    if (wait === undefined) {
      const woken = wakeOwner(tx, channel, body);
      if (woken.length === 0) tx.sql.get('signalAdd').run(channel, body, tx.now);
      return woken;
    }
    if (wake(tx, wait, body)) return [wait.task];
  }
}

/** Wakes the task whose own channel it is, if it waits there besides. Its wait becomes that one. */
function wakeOwner(tx: Transaction, channel: string, body: string): readonly number[] {
  const task = ownerOf(channel);
  if (task === undefined) return [];
  const row = tx.sql.get('waitOthers').get(task) as { gen: number; body: string } | undefined;
  const other = row && othersIn(row.body).find((one) => one.channel === channel);
  if (row === undefined || other === undefined || !wake(tx, { task, gen: row.gen }, body)) return [];
  tx.sql.get('waitBecome').run(other.key, channel, other.form ?? null, task);
  return [task];
}

/** Wakes all that wait on a channel now, by a change that no answer names. */
export function wakeAll(tx: Transaction, channel: string): void {
  // What these tasks did before in this transaction comes first.
  tx.ledger.seal();
  const work = (tx.dependents ??= { left: DOWN_BATCH, lanes: new Set(), carried: false });
  for (const wait of tx.sql.get('waitAll').all(channel) as unknown as OpenWait[]) wake(tx, wait, 'null', work.lanes);
}

/** False: its task no longer waits for this, and the signal goes to another. The wait is closed either way. */
function wake(tx: Transaction, { task, gen }: OpenWait, body: string, lanes?: Set<number>): boolean {
  const row = tx.sql.get('wake').get(tx.now, task, gen) as { lane: number; created_at: number } | undefined;
  tx.sql.get('waitClose').run(row === undefined ? null : body, task);
  if (row === undefined) return false;
  lanes?.add(row.lane);
  tx.ledger.note(tx.laneOf(row.lane).queue, 'woken', 'waiting', 'ready', task, gen, row.created_at);
  return true;
}
