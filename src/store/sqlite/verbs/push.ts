import { isFinal, STATES, type TaskState } from '../../../core/task.ts';
import type { NewTask, PushAnswer, UniqueKey } from '../../store.ts';
import { fitsInline, PAYLOAD_APART, putPayload } from '../body.ts';
import type { Transaction } from '../transaction.ts';

/** How long an operation id is remembered. */
export const OP_MS = 24 * 3_600_000;

/** Keys of different verbs never meet. */
const opKey = (op: string): string => `push:${op}`;

export function pushTasks(tx: Transaction, items: readonly NewTask[]): readonly PushAnswer[] {
  const add = tx.sql.get('taskAdd');
  return items.map((item) => {
    const before = earlierAnswer(tx, item) ?? uniqueAnswer(tx, item);
    if (before !== undefined) return before;
    const runAt = item.runAt ?? (item.delayMs === undefined ? 0 : tx.now + item.delayMs);
    const later = runAt > tx.now;
    const inline = fitsInline(item.payload);
    const { lastInsertRowid } = add.run(
      item.lane,
      item.spec,
      later ? 2 : 0,
      0 - item.priority,
      item.maxTries,
      inline ? 0 : PAYLOAD_APART,
      tx.now,
      later ? runAt : null,
      inline ? item.payload : null,
    );
    const task = Number(lastInsertRowid);
    if (!inline) putPayload(tx.sql, task, item.payload);
    if (item.unique !== undefined) holdKey(tx, item.lane, item.unique, task);
    if (item.op !== undefined) {
      tx.sql.get('opPut').run(opKey(item.op), JSON.stringify([task, tx.now]), tx.now + OP_MS);
    }
    const state = later ? 'scheduled' : 'ready';
    tx.ledger.note(tx.queueOf(item.lane), 'created', undefined, state, task, 0, tx.now);
    return { ok: true, task, createdAt: tx.now, state, fresh: true };
  });
}

/** The answer that this operation id got before. */
function earlierAnswer(tx: Transaction, item: NewTask): PushAnswer | undefined {
  if (item.op === undefined) return undefined;
  const row = tx.sql.get('opFind').get(opKey(item.op), tx.now) as { answer: string } | undefined;
  if (row === undefined) return undefined;
  const [task, createdAt] = JSON.parse(row.answer) as [number, number];
  return { ok: true, task, createdAt, state: standOf(tx, task)?.state ?? 'completed', fresh: false };
}

/** A unique key holds while its task is unfinished, and for its window after the push. */
function uniqueAnswer(tx: Transaction, item: NewTask): PushAnswer | undefined {
  if (item.unique === undefined) return undefined;
  const queue = tx.queueOf(item.lane);
  const held = tx.sql.get('uniqFind').get(queue, item.unique.key) as
    | { task: number; hash: number; until: number }
    | undefined;
  if (held === undefined) return undefined;
  const stand = standOf(tx, held.task);
  if (stand === undefined || (held.until <= tx.now && isFinal(stand.state))) return undefined;
  if (held.hash !== item.unique.hash) return { ok: false, conflict: held.task };
  return { ok: true, task: held.task, ...stand, fresh: false };
}

function standOf(tx: Transaction, task: number): { state: TaskState; createdAt: number } | undefined {
  const row = tx.sql.get('taskStand').get(task) as { state: number; created_at: number } | undefined;
  return row && { state: STATES[row.state] as TaskState, createdAt: row.created_at };
}

function holdKey(tx: Transaction, lane: number, unique: UniqueKey, task: number): void {
  tx.sql.get('uniqPut').run(tx.queueOf(lane), unique.key, task, unique.hash, tx.now + unique.windowMs);
}
