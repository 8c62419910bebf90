import { stateOf } from '../../../codes.ts';
import { keptAnswer } from '../../../rows/journal-rows.ts';
import type { EntryAnswer, NewChild, PushedTask, Turn, TurnAnswer } from '../../../store.ts';
import { inOrder, numbers, texts } from '../../arrays.ts';
import type { Session } from '../../connect/database.ts';
import type { Lanes } from '../../lanes.ts';
import { birthColumns, taskStates } from '../queue/push.ts';
import { findEntries } from './journal.ts';
import { saidBy } from './turn.ts';

interface Row {
  readonly id: number;
  readonly key: string | null;
  readonly child: number;
  readonly at: number;
  readonly state: number;
  readonly stored: number;
}

export interface Fan {
  /** Undefined: no such attempt runs, or it was asked to stop. */
  readonly answers: readonly (TurnAnswer | undefined)[];
  readonly born: readonly { readonly item: NewChild['task']; readonly answer: PushedTask }[];
}

const childrenOf = ({ entries }: Turn): readonly NewChild[] =>
  entries.filter((entry): entry is NewChild => entry.kind === 'child');

/** No task is named twice, and the lanes of the children are known. */
export async function takeFans(session: Session, lanes: Lanes, turns: readonly Turn[]): Promise<Fan> {
  const ordered = inOrder(turns);
  const children = ordered.flatMap((turn) =>
    childrenOf(turn).map(({ key, task }) => ({ key, parent: turn.task, task })),
  );
  const items = children.map(({ task }) => task);
  const rows = await session.all<Row>('turnFan', [
    numbers(ordered.map(({ task }) => task)),
    numbers(ordered.map(({ attempt }) => attempt)),
    ...saidBy(ordered),
    numbers(children.map(({ parent }) => parent)),
    texts(children.map(({ key }) => key)),
    ...birthColumns(lanes, items),
    texts(items.map(({ resultKey }) => resultKey)),
  ]);
  const held = Map.groupBy(rows, ({ id }) => id);
  const sent = turns.reduce((sum, { task, entries }) => sum + (held.has(task) ? entries.length : 0), 0);
  const known = sent === (rows[0]?.stored ?? 0) ? undefined : await knownEntries(session, turns);
  const born: { item: NewChild['task']; answer: PushedTask }[] = [];
  const answers = turns.map((turn): TurnAnswer | undefined => {
    const own = held.get(turn.task);
    if (own === undefined) return undefined;
    const fresh = new Map(own.map((row) => [row.key, row]));
    const entries = turn.entries.map((entry): EntryAnswer => {
      const row = fresh.get(entry.key);
      if (row === undefined || entry.kind !== 'child') return known?.(turn, entry) ?? { kind: 'stored' };
      const made = { task: row.child, createdAt: row.at, state: stateOf(row.state), fresh: true };
      born.push({ item: entry.task, answer: { ok: true, ...made } });
      return { kind: 'child', ...made };
    });
    return { kind: 'done', went: 'on', cancelRequested: false, entries };
  });
  return { answers, born };
}

/** The answers for entries that existed, read in statements that see what the one before has written. */
async function knownEntries(
  session: Session,
  turns: readonly Turn[],
): Promise<(turn: Turn, entry: Turn['entries'][number]) => EntryAnswer | undefined> {
  const known = await findEntries(session, turns);
  const refs = turns.flatMap((turn) => turn.entries.flatMap(({ key }) => known(turn.task, key)?.ref ?? []));
  const states = refs.length === 0 ? new Map() : await taskStates(session, refs);
  return (turn, entry) => {
    const there = known(turn.task, entry.key);
    return there && keptAnswer(turn, entry, there, (child) => states.get(child) ?? 'completed');
  };
}
