import type { Turn, TurnAnswer, TurnStore } from '../../store.ts';
import type { Transaction } from '../file/transaction.ts';
import { journalSize, listHeads, listJournal, readEntries } from '../verbs/trees/journal.ts';
import { isPlain, takeTurn } from '../verbs/trees/turn.ts';
import type { StoreParts } from './store-parts.ts';

export function turnStore(parts: StoreParts): TurnStore {
  return {
    taskTurn: ({ items }) => takeTurns(parts, items),
    journalSize: ({ task }) => parts.writer.read(({ sql }) => journalSize(sql, task)),
    journalList: ({ task }) => parts.writer.read(({ sql }) => listJournal(sql, task)),
    journalHeads: (params) => parts.writer.read(({ sql }) => listHeads(sql, params)),
    journalEntries: ({ task, keys }) => parts.writer.read(({ sql }) => readEntries(sql, task, keys)),
  };
}

/**
 * Plain turns run in the rank of settles, so that values come before the end of their attempt. Turns that end or wake
 * tasks run after them.
 */
async function takeTurns({ calls, writer }: StoreParts, items: readonly Turn[]): Promise<readonly TurnAnswer[]> {
  const plain = items.filter(isPlain);
  const take = (some: readonly Turn[]) => (tx: Transaction) => some.map((turn) => takeTurn(tx, turn));
  // A journal is read by whoever goes on with the task, after its claim. Lines of a log are followed from other processes.
  const unheard = plain.every(({ logs }) => logs === undefined);
  if (plain.length === items.length) return writer.write('settle', take(items), { unheard });
  const others = items.filter((turn) => !isPlain(turn));
  const [first, second] = await Promise.all([
    plain.length === 0 ? [] : writer.write('settle', take(plain), { unheard }),
    calls.waking('rest', take(others)),
  ]);
  const answers = new Map([...plain.entries(), ...others.entries()].map(([i, turn]) => [turn, i]));
  return items.map((turn) => (isPlain(turn) ? first : second)[answers.get(turn) as number] as TurnAnswer);
}
