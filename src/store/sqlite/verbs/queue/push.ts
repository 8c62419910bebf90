import { isFinal } from '../../../../core/task/task.ts';
import { fitsInline, PAYLOAD_APART, timeFlag } from '../../../codes.ts';
import { keptText, OP_MS, pushKey, readKept } from '../../../op-keys.ts';
import type { NewTask, PushAnswer, PushedTask, UniqueKey } from '../../../store.ts';
import { putPayload, putResultKey } from '../../body.ts';
import type { Transaction } from '../../file/transaction.ts';
import { admit } from './admit.ts';
import { taskStatus } from './task-status.ts';

/** Rows of one statement. */
type Run = 1 | 4 | 16;
const ADD = { 1: 'taskAdd', 4: 'taskAdd4', 16: 'taskAdd16' } as const;

export function pushTasks(tx: Transaction, items: readonly NewTask[]): readonly PushAnswer[] {
  const answers: PushAnswer[] = [];
  for (let i = 0; i < items.length; ) {
    const item = items[i] as NewTask;
    if (!isPlain(tx, item)) {
      answers.push(earlierAnswer(tx, item) ?? remember(tx, item, uniqueAnswer(tx, item) ?? pushAlone(tx, item)));
      i++;
      continue;
    }
    const run = plainRun(tx, items, i);
    addTasks(tx, items, i, run, answers);
    i += run;
  }
  return answers;
}

/** Nothing has to be looked up or decided before the task is stored. */
function isPlain(tx: Transaction, { op, unique, lane }: NewTask): boolean {
  return op === undefined && unique === undefined && tx.laneOf(lane).uses.length === 0;
}

/** How many items from here on go into one statement: 16, 4 or 1. */
function plainRun(tx: Transaction, items: readonly NewTask[], from: number): Run {
  let plain = 1;
  const most = Math.min(16, items.length - from);
  while (plain < most && isPlain(tx, items[from + plain] as NewTask)) plain++;
  return plain >= 16 ? 16 : plain >= 4 ? 4 : 1;
}

/** Inserts `count` items, which get consecutive ids: this transaction is the only writer. */
function addTasks(tx: Transaction, items: readonly NewTask[], from: number, count: Run, answers: PushAnswer[]): void {
  const values: (number | string | null)[] = [];
  const { now } = tx;
  for (let i = from; i < from + count; i++) {
    const item = items[i] as NewTask;
    const runAt = dueAt(item, now);
    const inline = fitsInline(item.payload);
    values.push(item.lane, item.spec, runAt === null ? 0 : 2, 0 - item.priority, item.maxTries);
    values.push((inline ? 0 : PAYLOAD_APART) | timeFlag(item), now, runAt, inline ? item.payload : null);
  }
  const { lastInsertRowid } = tx.sql.get(ADD[count]).run(...values);
  const first = Number(lastInsertRowid) - count + 1;
  for (let i = 0; i < count; i++) {
    const item = items[from + i] as NewTask;
    const task = first + i;
    const state = dueAt(item, now) === null ? 'ready' : 'scheduled';
    if (!fitsInline(item.payload)) putPayload(tx.sql, task, item.payload);
    if (item.resultKey !== undefined) putResultKey(tx.sql, task, item.resultKey);
    if (item.waitTimeoutMs !== undefined) {
      tx.sql.get('taskExpiry').run((dueAt(item, now) ?? now) + item.waitTimeoutMs, task);
    }
    tx.ledger.note(tx.laneOf(item.lane).queue, 'created', undefined, state, task, 0, now);
    answers.push({ ok: true, task, createdAt: now, state, fresh: true });
  }
}

export function dueAt(item: NewTask, now: number): number | null {
  const runAt = item.runAt ?? (item.delayMs === undefined ? now : now + item.delayMs);
  return runAt > now ? runAt : null;
}

function pushAlone(tx: Transaction, item: NewTask): PushAnswer {
  const refused = admit(tx, tx.laneOf(item.lane).uses);
  if (refused !== undefined) return { ok: false, ...refused };
  const answers: PushAnswer[] = [];
  addTasks(tx, [item], 0, 1, answers);
  const [answer] = answers as [PushedTask];
  if (item.unique !== undefined) holdKey(tx, item.lane, item.unique, answer.task);
  return answer;
}

/** The existing task of its operation id or unique key. */
export function findTask(tx: Transaction, item: NewTask): PushAnswer | undefined {
  return earlierAnswer(tx, item) ?? uniqueAnswer(tx, item);
}

/** Stores the operation id and the unique key of a task. */
export function nameTask(tx: Transaction, item: NewTask, answer: PushedTask): void {
  if (item.unique !== undefined && answer.fresh) holdKey(tx, item.lane, item.unique, answer.task);
  remember(tx, item, answer);
}

/** A repeat gets the same answer again, also the task that had the key and the refusal. */
function remember(tx: Transaction, item: NewTask, answer: PushAnswer): PushAnswer {
  // A limit that is full now may have room at the next call: a repeat asks again.
  if (item.op !== undefined && (answer.ok || 'conflict' in answer)) {
    tx.sql.get('opPut').run(pushKey(item.op), keptText(answer, item), tx.now + OP_MS);
  }
  return answer;
}

/** The answer that this operation id got before. */
function earlierAnswer(tx: Transaction, item: NewTask): PushAnswer | undefined {
  if (item.op === undefined) return undefined;
  const row = tx.sql.get('opFind').get(pushKey(item.op), tx.now) as { answer: string } | undefined;
  if (row === undefined) return undefined;
  const kept = readKept(row.answer, item);
  if ('ok' in kept) return kept;
  const { task, createdAt } = kept;
  return { ok: true, task, createdAt, state: taskStatus(tx, task)?.state ?? 'completed', fresh: false };
}

/** A unique key holds while its task is unfinished, and for its window after the push. */
function uniqueAnswer(tx: Transaction, item: NewTask): PushAnswer | undefined {
  if (item.unique === undefined) return undefined;
  const queue = tx.laneOf(item.lane).queue;
  const held = tx.sql.get('uniqFind').get(queue, item.unique.key) as
    | { task: number; hash: number; until: number }
    | undefined;
  if (held === undefined) return undefined;
  const stand = taskStatus(tx, held.task);
  if (stand === undefined || (held.until <= tx.now && isFinal(stand.state))) return undefined;
  if (held.hash !== item.unique.hash) return { ok: false, conflict: held.task };
  return { ok: true, task: held.task, ...stand, fresh: false };
}

function holdKey(tx: Transaction, lane: number, unique: UniqueKey, task: number): void {
  tx.sql.get('uniqPut').run(tx.laneOf(lane).queue, unique.key, task, unique.hash, tx.now + unique.windowMs);
}
