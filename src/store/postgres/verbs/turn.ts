import { STREAMS } from '../../../core/log.ts';
import { kindCode } from '../../codes.ts';
import { keptAnswer } from '../../journal-rows.ts';
import type { EntryAnswer, NewValue, Turn, TurnAnswer } from '../../store.ts';
import { inOrder, numbers, texts } from '../arrays.ts';
import type { Session } from '../database.ts';
import { findEntries } from './journal.ts';
import type { ParkItem } from './park.ts';

/**
 * What a turn needs. `plain`: one statement for many that remember and go on. `park` and `back`: they say nothing else, and go
 * together with others. `full`: a transaction of its own.
 */
export type Form = 'plain' | 'park' | 'back' | 'full';

export function formOf({ entries, logs = [], then }: Turn): Form {
  if (then.go === 'on') return entries.every(isValue) ? 'plain' : 'full';
  if (entries.length + logs.length > 0 || then.go === 'end') return 'full';
  if (then.go === 'back') return 'back';
  return (then.children ?? []).every((child) => typeof child === 'number') ? 'park' : 'full';
}

const isValue = (entry: Turn['entries'][number]): entry is NewValue => 'value' in entry;

/** A turn that only parks, and waits for no child of its own. */
export function parkOf({ task, attempt, then }: Turn): ParkItem {
  if (then.go !== 'park') throw new Error('the turn does not park');
  const { go: _, children, ...park } = then;
  return { ...park, task, attempt, children: children as readonly number[] | undefined };
}

/** Splits turns into rounds: no task comes twice in one, and the turns of a task follow each other. Says their places. */
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

interface Held {
  readonly id: number;
  readonly asked: boolean;
  readonly stored: number;
}

const LOST: TurnAnswer = { kind: 'lost' };
const STORED: EntryAnswer = { kind: 'stored' };

/** No task comes twice. */
export async function takePlain(session: Session, turns: readonly Turn[]): Promise<readonly TurnAnswer[]> {
  const ordered = inOrder(turns);
  const values = ordered.flatMap(({ task, entries }) => entries.filter(isValue).map((entry) => ({ task, ...entry })));
  const lines = ordered.flatMap(({ task, logs = [] }) => logs.map((line) => ({ task, ...line })));
  const rows = await session.all<Held>('turnPlain', [
    numbers(ordered.map(({ task }) => task)),
    numbers(ordered.map(({ attempt }) => attempt)),
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
  ]);
  const held = new Map(rows.map((row) => [row.id, row]));
  const sent = turns.reduce((sum, { task, entries }) => sum + (held.has(task) ? entries.length : 0), 0);
  const all = sent === (rows[0]?.stored ?? 0);
  // In a new statement, which sees what the one before has written and what others had.
  const known = all ? undefined : await findEntries(session, turns);
  return turns.map((turn): TurnAnswer => {
    const row = held.get(turn.task);
    if (row === undefined) return LOST;
    const entries = turn.entries.map((entry) => {
      const there = known?.(turn.task, entry.key);
      return there === undefined ? STORED : keptAnswer(turn, entry, there, () => 'completed');
    });
    return { kind: 'done', went: 'on', cancelRequested: row.asked, entries };
  });
}
