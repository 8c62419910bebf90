import { isEngineError } from '../../core/errors.ts';
import { encodePayload, entryBounds } from '../../core/task/payload.ts';
import type { TurnEntry, Turned, ValueEntry, WaitFor } from '../../protocol/link.ts';
import type { AttemptSession } from '../runner/runner.ts';

interface Waiter {
  readonly entry: TurnEntry;
  readonly resolve: (text: string | null) => void;
  readonly reject: (error: unknown) => void;
}

/** Entries in one turn. A node takes more, but they would hold up other workers. */
const MOST_ENTRIES = 250;
/** In UTF-16 units. A larger entry goes alone. */
const MOST_LENGTH = 1024 * 1024;

/**
 * Batches the journal entries of one attempt into turns, one turn at a time. Entries that are added at the same time go together,
 * and entries that are added while a turn is under way go into the next. A deferred entry (`addLater`) never has a turn of its own.
 */
export class TurnBatcher {
  readonly #session: AttemptSession;
  #waiting: Waiter[] = [];
  #noted: TurnEntry[] = [];
  #underWay = false;

  constructor(session: AttemptSession) {
    this.#session = session;
  }

  /** Resolves to the stored text of the entry; null: the task was cancelled, and has ended. */
  add(entry: TurnEntry): Promise<string | null> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ entry, resolve, reject });
      if (this.#underWay) return;
      this.#underWay = true;
      // Entries of the same moment are a few microtasks behind.
      queueMicrotask(() => void this.#commitAll());
    });
  }

  addLater(entry: ValueEntry): void {
    this.#noted.push(entry);
  }

  /** Called only when nothing else is under way. */
  async park(wait: WaitFor): Promise<Turned> {
    const entries = this.#noted;
    this.#noted = [];
    try {
      return await this.#session.turn({ entries, then: { go: 'park', ...wait } });
    } catch (error) {
      this.#noted.unshift(...entries);
      throw error;
    }
  }

  async #commitAll(): Promise<void> {
    while (this.#waiting.length > 0) await this.#commit(this.#take());
    this.#underWay = false;
  }

  #take(): readonly Waiter[] {
    if (this.#waiting.length === 1) return this.#waiting.splice(0);
    let length = 0;
    const over = this.#waiting.findIndex(({ entry }, i) => {
      length += lengthOf(entry);
      return i > 0 && (i >= MOST_ENTRIES || length > MOST_LENGTH);
    });
    return this.#waiting.splice(0, over === -1 ? this.#waiting.length : over);
  }

  /** One refused entry refuses the whole turn: then each entry is sent again by itself. */
  async #commit(waiters: readonly Waiter[]): Promise<void> {
    const noted = this.#noted;
    this.#noted = [];
    try {
      // Both may be as long as a turn can be: then each has its own.
      if (noted.length > 0 && lengthOfAll([...noted, ...waiters.map(({ entry }) => entry)]) > MOST_LENGTH) {
        await this.#session.turn({ entries: noted, then: { go: 'on' } });
        noted.length = 0;
      }
      const entries = [...noted, ...waiters.map(({ entry }) => entry)];
      const { entries: texts } = await this.#session.turn({ entries, then: { go: 'on' } });
      for (const [i, { resolve }] of waiters.entries()) resolve(texts[noted.length + i] ?? null);
    } catch (error) {
      this.#noted.unshift(...noted);
      if (waiters.length > 1 && isEngineError(error) && error.code !== 'LEASE_LOST') {
        for (const waiter of waiters) await this.#commit([waiter]);
      } else {
        for (const { reject } of waiters) reject(error);
      }
    }
  }
}

function lengthOf(entry: TurnEntry): number {
  const value = entry.kind === 'child' ? entry.child.input : entry.kind === 'signal' ? entry.body : entry.value;
  return value === undefined ? 0 : encodePayload(value, entryBounds(entry.kind)).length;
}

function lengthOfAll(entries: readonly TurnEntry[]): number {
  return entries.reduce((sum, entry) => sum + lengthOf(entry), 0);
}
