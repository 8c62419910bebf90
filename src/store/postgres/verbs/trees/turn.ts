import { STREAMS } from '../../../../core/task/log.ts';
import { fitsInline, kindCode, reasonCode, stateCode } from '../../../codes.ts';
import { keptAnswer } from '../../../rows/journal-rows.ts';
import type { NewEntry, NewValue, Then, Turn, TurnAnswer } from '../../../store.ts';
import { LOST, type ParkItem, STORED } from '../../../turns.ts';
import { booleans, inOrder, numbers, texts } from '../../arrays.ts';
import type { Session } from '../../connect/database.ts';
import { findEntries } from './journal.ts';

/**
 * How a turn is written. `plain`, `fan` and `end`: one statement for many turns, with values, with children that
 * nothing can refuse, or with an end. `park` and `back`: only a park or a return, batched with others. `full`: a
 * transaction of its own. `metered`: values, and a draw or what was spent, in a transaction with others; ends that have spent are `end`.
 */
export type Form = 'plain' | 'metered' | 'fan' | 'end' | 'park' | 'back' | 'full';

export function formOf({ entries, logs = [], then, draw, spend }: Turn): Form {
  if (draw !== undefined || spend !== undefined) {
    if (!entries.every(isValue)) return 'full';
    return then.go === 'on' ? 'metered' : then.go === 'end' ? 'end' : 'full';
  }
  if (then.go === 'on' || then.go === 'end') {
    if (entries.every(isValue)) return then.go === 'on' ? 'plain' : 'end';
    return then.go === 'on' && entries.every((entry) => isValue(entry) || isFree(entry)) ? 'fan' : 'full';
  }
  if (entries.length + logs.length > 0) return 'full';
  if (then.go === 'back') return 'back';
  if (then.others !== undefined) return 'full';
  return (then.children ?? []).every((child) => typeof child === 'number') ? 'park' : 'full';
}

const isValue = (entry: Turn['entries'][number]): entry is NewValue => 'value' in entry;

/** A child without a unique key, an operation id and dependencies. Its limits are not checked here. */
function isFree(entry: NewEntry): boolean {
  if (entry.kind !== 'child') return false;
  const { task, after = [] } = entry;
  return after.length === 0 && task.unique === undefined && task.op === undefined;
}

/** A turn that only parks, and waits for no child of its own. */
export function parkOf({ task, attempt, then }: Turn): ParkItem {
  if (then.go !== 'park') throw new Error('the turn does not park');
  const { go: _, children, ...park } = then;
  return { ...park, task, attempt, children: children as readonly number[] | undefined };
}

/** Splits turns into rounds, by their places. No task is in a round twice, and the turns of a task follow each other. */
export function roundsOf(turns: readonly Turn[]): readonly (readonly number[])[] {
  const seen = new Map<number, number>();
  const rounds: number[][] = [];
  for (const [i, { task }] of turns.entries()) {
    const n = seen.get(task) ?? 0;
    seen.set(task, n + 1);
    const round = rounds[n];
    if (round === undefined) rounds.push([i]);
    else round.push(i);
  }
  return rounds;
}

interface TurnRow {
  readonly id: number;
  readonly asked: boolean;
  readonly stored: number;
}

/** The values and log lines of turns, as columns. */
export function saidBy(turns: readonly Turn[]): readonly string[] {
  const values = turns.flatMap(({ task, entries }) => entries.filter(isValue).map((entry) => ({ task, ...entry })));
  const lines = turns.flatMap(({ task, logs = [] }) => logs.map((line) => ({ task, ...line })));
  return [
    numbers(values.map(({ task }) => task)),
    texts(values.map(({ key }) => key)),
    numbers(values.map(({ kind }) => kindCode(kind))),
    texts(values.map(({ value }) => value)),
    numbers(values.map(({ began }) => began)),
    texts(values.map(({ usage }) => usage)),
    numbers(lines.map(({ task }) => task)),
    numbers(lines.map(({ seq }) => seq)),
    numbers(lines.map(({ at }) => at)),
    numbers(lines.map(({ stream }) => STREAMS.indexOf(stream))),
    texts(lines.map(({ text }) => text)),
  ];
}

/** Answers the turns that the statement has handled. Existing entries are read only if there are some. */
async function answersOf(
  session: Session,
  turns: readonly Turn[],
  rows: readonly TurnRow[],
  went: 'on' | 'ended',
): Promise<readonly (TurnAnswer | undefined)[]> {
  const held = new Map(rows.map((row) => [row.id, row]));
  const sent = turns.reduce((sum, { task, entries }) => sum + (held.has(task) ? entries.length : 0), 0);
  const all = sent === (rows[0]?.stored ?? 0);
  // A new statement sees what this one and others have written.
  const known = all ? undefined : await findEntries(session, turns);
  return turns.map((turn): TurnAnswer | undefined => {
    const row = held.get(turn.task);
    if (row === undefined) return undefined;
    const entries = turn.entries.map((entry) => {
      const there = known?.(turn.task, entry.key);
      return there === undefined ? STORED : keptAnswer(turn, entry, there, () => 'completed');
    });
    return { kind: 'done', went, cancelRequested: row.asked, entries };
  });
}

/** No task is named twice. */
export async function takePlain(session: Session, turns: readonly Turn[]): Promise<readonly TurnAnswer[]> {
  const ordered = inOrder(turns);
  const rows = await session.all<TurnRow>('turnPlain', [
    numbers(ordered.map(({ task }) => task)),
    numbers(ordered.map(({ attempt }) => attempt)),
    ...saidBy(ordered),
  ]);
  return (await answersOf(session, turns, rows, 'on')).map((answer) => answer ?? LOST);
}

/** No task is named twice. It has no answer for tasks that something waits for, and for those that do not exist. */
export async function takeEnds(session: Session, turns: readonly Turn[]): Promise<readonly (TurnAnswer | undefined)[]> {
  const ordered = inOrder(turns);
  const ends = ordered.map(({ then }) => then as Then & { readonly go: 'end' });
  const rows = await session.all<TurnRow>('turnEnd', [
    numbers(ordered.map(({ task }) => task)),
    numbers(ordered.map(({ attempt }) => attempt)),
    numbers(ends.map(({ to }) => stateCode(to))),
    numbers(ends.map(({ reason }) => reasonCode(reason))),
    texts(ends.map(({ result }) => result)),
    booleans(ends.map(({ result }) => result !== undefined && !fitsInline(result))),
    ...saidBy(ordered),
  ]);
  return answersOf(session, turns, rows, 'ended');
}
