import { turnGraph } from '../../../graph.ts';
import type { KnownEntry } from '../../../rows/journal-rows.ts';
import type {
  BudgetNews,
  EntryAnswer,
  NewChild,
  NewEntry,
  Then,
  Turn,
  TurnAnswer,
  TurnRefusal,
} from '../../../store.ts';
import {
  type AfterTurn,
  allWritten,
  awaitedBy,
  circleIn,
  isRepeat,
  LOST,
  NONE,
  STORED,
  type TurnDone,
} from '../../../turns.ts';
import type { Transaction } from '../../file/transaction.ts';
import { appendLines } from '../queue/log.ts';
import { endedAs, returnTask, settleTask } from '../queue/settle.ts';
import { type Charged, chargeTurn, FREE, parkedForBudget, repeatedCharge, waitFor } from './budget.ts';
import { bearChildren } from './graph.ts';
import { addEntry, answerOf, findEntry, putValue } from './journal.ts';
import { beginWait, isLate, parkTask, type Running } from './park.ts';
import { deliver } from './signal.ts';

type Child = EntryAnswer & { readonly kind: 'child' };

/** The turn has only values and log lines: nothing that others could see or wait for. */
export function isPlain({ entries, then, draw, spend }: Turn): boolean {
  return then.go === 'on' && draw === undefined && spend === undefined && entries.every((entry) => 'value' in entry);
}

/**
 * Reads hold for the writes that follow them: this transaction is the only writer. What may refuse the turn comes
 * before all writes.
 */
export function takeTurn(tx: Transaction, turn: Turn): TurnAnswer {
  const row = tx.sql.get('turnLook').get(turn.task, turn.attempt) as Running | undefined;
  if (row === undefined) return repeated(tx, turn);
  if (isPlain(turn)) return remember(tx, turn, row);
  const { entries, then } = turn;
  if (then.go === 'park' && isLate(tx, turn, then)) return LOST;
  const known = new Map(entries.map((entry) => [entry, findEntry(tx.sql, turn.task, entry.key)]));
  const acts = then.go === 'park' || entries.some((entry) => !('value' in entry) && known.get(entry) === undefined);
  if (row.cancel_at !== null && acts) return stop(tx, turn, row, known);
  // Tasks that it wakes or replaces may have events in this transaction, which come first.
  if (entries.some(({ kind }) => kind === 'signal' || kind === 'child')) tx.ledger.seal();
  if (closesCircle(tx, turn)) return circleIn(turn);
  const born = bear(tx, turn, row, known);
  if ('why' in born) return born;
  const charged = charge(tx, turn, row, known);
  if (charged.short !== undefined && row.cancel_at !== null) return stop(tx, turn, row, known);
  const answers = entries.map((entry) => write(tx, turn, entry, known.get(entry), born));
  if (turn.logs !== undefined) appendLines(tx, turn, turn.logs);
  return done(row, go(tx, turn, row, answers, charged), answers, charged.news);
}

const done = (row: Running, after: AfterTurn, entries: readonly EntryAnswer[], budget?: BudgetNews): TurnDone => {
  const news = budget === undefined ? undefined : { budget };
  return { kind: 'done', ...after, cancelRequested: row.cancel_at !== null, entries, ...news };
};

function remember(tx: Transaction, turn: Turn, row: Running): TurnDone {
  const answers = turn.entries.map((entry) => ('value' in entry ? putValue(tx, turn, entry) : NONE));
  if (turn.logs !== undefined) appendLines(tx, turn, turn.logs);
  return done(row, { went: 'on' }, answers);
}

/** The task was asked to stop, and the turn would have begun something: its values are kept, and the task ends. */
function stop(
  tx: Transaction,
  turn: Turn,
  row: Running,
  known: ReadonlyMap<NewEntry, KnownEntry | undefined>,
): TurnAnswer {
  const answers = turn.entries.map((entry) => {
    if ('value' in entry) return putValue(tx, turn, entry);
    const there = known.get(entry);
    return there === undefined ? NONE : answerOf(tx, turn, entry, there);
  });
  if (turn.logs !== undefined) appendLines(tx, turn, turn.logs);
  end(tx, turn, row, { go: 'end', to: 'cancelled', reason: 'requested' });
  return done(row, { went: 'cancelled' }, answers);
}

function closesCircle(tx: Transaction, turn: Turn): boolean {
  const awaited = awaitedBy(turn, (key) => findEntry(tx.sql, turn.task, key)?.ref ?? undefined);
  if (awaited.length === 0) return false;
  return tx.sql.get('parkCircle').get(JSON.stringify(awaited), turn.task) !== undefined;
}

/** A turn whose entries this attempt has written already is a repeat, and is not charged again. */
function charge(
  tx: Transaction,
  turn: Turn,
  row: Running,
  known: ReadonlyMap<NewEntry, KnownEntry | undefined>,
): Charged {
  if (turn.draw === undefined && turn.spend === undefined) return FREE;
  if (isRepeat(turn, (entry) => known.get(entry))) return repeatedCharge(tx.sql, turn, row);
  return chargeTurn(tx, turn, row);
}

/** The new children by their entries, or the refusal. */
function bear(
  tx: Transaction,
  turn: Turn,
  { root }: Running,
  known: ReadonlyMap<NewEntry, KnownEntry | undefined>,
): ReadonlyMap<NewEntry, Child> | (TurnAnswer & { readonly kind: 'refused' }) {
  const fresh = turn.entries.filter((entry): entry is NewChild => {
    return entry.kind === 'child' && known.get(entry) === undefined;
  });
  if (fresh.length === 0) return new Map();
  const there = (key: string): number | undefined => findEntry(tx.sql, turn.task, key)?.ref ?? undefined;
  const items = turnGraph(fresh, there);
  const answer = bearChildren(tx, items, { parent: turn.task, root: root ?? turn.task });
  if (!answer.ok) {
    const item =
      'unknown' in answer
        ? items.findIndex(({ after }) => after.some((one) => one.task === answer.unknown))
        : answer.item;
    return { kind: 'refused', key: (fresh[item] as NewChild).key, why: refusalOf(answer) };
  }
  return new Map(
    answer.tasks.map(({ task, createdAt, state, fresh: isNew }, i) => [
      fresh[i] as NewEntry,
      { kind: 'child', task, createdAt, state, fresh: isNew },
    ]),
  );
}

function refusalOf(answer: Exclude<ReturnType<typeof bearChildren>, { readonly ok: true }>): TurnRefusal {
  if ('unknown' in answer) return { unknown: answer.unknown };
  return 'limit' in answer ? { limit: answer.limit, key: answer.key } : { conflict: answer.conflict };
}

function write(
  tx: Transaction,
  turn: Turn,
  entry: NewEntry,
  known: KnownEntry | undefined,
  born: ReadonlyMap<NewEntry, Child>,
): EntryAnswer {
  if ('value' in entry) return putValue(tx, turn, entry);
  if (known !== undefined) return answerOf(tx, turn, entry, known);
  if (entry.kind === 'signal') {
    addEntry(tx, turn, entry);
    deliver(tx, entry);
    return STORED;
  }
  const child = born.get(entry) as Child;
  addEntry(tx, turn, entry, { ref: child.task, value: String(child.createdAt) });
  return child;
}

function go(
  tx: Transaction,
  turn: Turn,
  row: Running,
  answers: readonly EntryAnswer[],
  { short, flags }: Charged,
): AfterTurn {
  const { then, task, attempt } = turn;
  if (short !== undefined) {
    beginWait(tx, { task, attempt, ...waitFor(turn, row, short) }, row);
    return { went: 'parked' };
  }
  switch (then.go) {
    case 'on':
      return { went: 'on' };
    case 'park': {
      const children = then.children?.map((child) =>
        typeof child === 'number' ? child : bornAs(turn, answers, child),
      );
      return parkTask(tx, { ...then, task, attempt, children }, { ...row, flags: row.flags | flags });
    }
    case 'end':
      end(tx, turn, row, then);
      return { went: 'ended' };
    case 'back': {
      const { go: _, ...item } = then;
      return { went: returnTask(tx, { ...item, task, attempt }) === 'cancelled' ? 'cancelled' : 'back' };
    }
  }
}

/** The number of the child of this entry. */
function bornAs({ entries }: Turn, answers: readonly EntryAnswer[], key: string): number {
  const answer = answers[entries.findIndex((entry) => entry.key === key)];
  return answer?.kind === 'child' ? answer.task : 0;
}

function end(tx: Transaction, { task, attempt }: Turn, row: Running, then: Then & { readonly go: 'end' }): void {
  const { to, reason, result } = then;
  settleTask(tx, { task, attempt, to, reason, result, hint: { lane: row.lane, createdAt: row.created_at } });
}

/** No such attempt runs. A repeat of the turn that ended it is recognized by how it ended. */
function repeated(tx: Transaction, turn: Turn): TurnAnswer {
  const { then } = turn;
  const went = wentBefore(tx, turn);
  if (went === undefined) return LOST;
  const entries = turn.entries.map((entry): EntryAnswer => {
    const known = findEntry(tx.sql, turn.task, entry.key);
    return known === undefined ? NONE : answerOf(tx, turn, entry, known);
  });
  const news = then.go === 'on' ? { budget: { waits: true } } : undefined;
  return { kind: 'done', went, cancelRequested: went === 'cancelled', entries, ...news };
}

function isForBudget(tx: Transaction, turn: Turn): boolean {
  if (turn.draw === undefined || !allWritten(turn, ({ key }) => findEntry(tx.sql, turn.task, key))) return false;
  return parkedForBudget(tx.sql, turn);
}

function wentBefore(tx: Transaction, turn: Turn): TurnDone['went'] | undefined {
  const { task, attempt, then } = turn;
  const ended = (as: Parameters<typeof endedAs>[3]): boolean => endedAs(tx, task, attempt, as);
  switch (then.go) {
    case 'on':
      return ended('parked') && isForBudget(tx, turn) ? 'parked' : undefined;
    case 'park':
      return ended('parked') ? 'parked' : ended('cancelled') ? 'cancelled' : undefined;
    case 'end':
      return ended(then.to) ? 'ended' : ended('cancelled') ? 'cancelled' : undefined;
    case 'back':
      return ended(then.change) ? 'back' : ended('cancelled') ? 'cancelled' : undefined;
  }
}
