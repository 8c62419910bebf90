import type { Lease } from '../../../src/core/task/lease.ts';
import type { EntryAnswer, EntryKind, JournalEntry, NewEntry } from '../../../src/store/store.ts';
import type { Board } from '../board.ts';
import { must } from '../trace.ts';

interface Kept {
  readonly kind: EntryKind;
  readonly attempt: number;
  readonly value: string | undefined;
  readonly ref: number | undefined;
}

type Value = Extract<NewEntry, { readonly value: string }>;

/** What tasks have written into their journals: the first entry of each key. */
export class JournalModel {
  readonly #board: Board;
  readonly #journals = new Map<number, Map<string, Kept>>();
  /** Lines of logs, by task, attempt and number. */
  readonly #lines = new Map<number, Set<string>>();

  constructor(board: Board) {
    this.#board = board;
  }

  get(task: number, key: string): Kept | undefined {
    return this.#journals.get(task)?.get(key);
  }

  /** Of a running attempt: the first value stays, and the same one again is a repeat. */
  put(lease: Lease, entry: Value, answer: EntryAnswer | undefined): void {
    const { key, kind, value } = entry;
    const is = (): string => `${key} of ${lease.task}#${lease.attempt} was answered ${JSON.stringify(answer)}`;
    const first = this.get(lease.task, key);
    if (first === undefined) {
      must(answer?.kind === 'stored', 'memory', is);
      this.add(lease, entry, { value });
      return;
    }
    must(
      JSON.stringify(answer) === JSON.stringify(this.told(lease, entry)),
      'memory',
      () => `${is()}, first came ${kind} ${first.value}`,
    );
    this.#board.gates.reach(answer?.kind === 'stored' ? 'value repeated after a lost answer' : 'first value stayed');
  }

  add(
    { task, attempt }: Lease,
    { key, kind }: NewEntry,
    said: { readonly value?: string; readonly ref?: number },
  ): void {
    const journal = this.#journals.get(task) ?? new Map();
    this.#journals.set(task, journal.set(key, { kind, attempt, value: said.value, ref: said.ref }));
  }

  /** What a turn is told of an entry that is there. */
  told({ task, attempt }: Lease, entry: NewEntry): EntryAnswer | undefined {
    const known = this.get(task, entry.key);
    if (known === undefined) return undefined;
    const { kind, ref, value } = known;
    if (entry.kind === 'child' && ref !== undefined) {
      const state = this.#board.isPruned(ref) ? 'completed' : this.#board.task(ref).state;
      return { kind: 'child', task: ref, createdAt: Number(value), state, fresh: false };
    }
    if (entry.kind === 'signal' && kind === 'signal') return { kind: 'stored' };
    const same = 'value' in entry && entry.value === value && known.attempt === attempt;
    return same ? { kind: 'stored' } : { kind: 'kept', value: value ?? 'null' };
  }

  wrote({ task, attempt }: Lease, lines: readonly { readonly seq: number }[] = []): void {
    const own = this.#lines.get(task) ?? new Set();
    for (const { seq } of lines) own.add(`${attempt}/${seq}`);
    this.#lines.set(task, own);
  }

  listed(task: number, entries: readonly JournalEntry[]): void {
    if (!this.#board.isPruned(task)) this.compare(task, entries);
  }

  /** The entries are those that were inserted, and stand for what they did. */
  compare(
    task: number,
    entries: readonly Pick<JournalEntry, 'key' | 'kind' | 'attempt' | 'ref' | 'value'>[],
    where = 'was told to remember',
  ): void {
    const say = ([key, { kind, attempt, ref, value }]: readonly [string, Kept]): string =>
      `${key}#${attempt} ${kind} ${ref} ${value}`;
    const due = [...(this.#journals.get(task) ?? [])].map(say);
    const have = entries.map((entry) => say([entry.key, entry]));
    must(have.sort().join() === due.sort().join(), 'memory', () => `${task} ${where} ${have}, it remembers ${due}`);
  }

  /** How many lines there are of tasks that are kept. */
  countLines(): number {
    let lines = 0;
    for (const [task, own] of this.#lines) if (!this.#board.isPruned(task)) lines += own.size;
    return lines;
  }

  /** Tasks that have written something, and are kept. */
  writers(): readonly number[] {
    return [...this.#journals.keys()].filter((task) => !this.#board.isPruned(task));
  }
}
