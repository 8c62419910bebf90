import { isEngineError } from '../../core/errors.ts';
import { encodePayload, entryBounds } from '../../core/task/payload.ts';
import { entryKey } from '../../flow/workflow/workflow-journal.ts';
import type { TurnEntry, Turned, TurnThen } from '../../protocol/link.ts';
import type { AttemptSession } from '../runner/runner.ts';

/** An entry without the number in its key. */
export type NewEntry = { readonly what: string } & (
  | {
      readonly kind: 'value' | 'mark' | 'wait';
      readonly value: unknown;
      readonly began?: number;
      /** Of its JSON text, if that was made before. */
      readonly length?: number;
    }
  | {
      readonly kind: 'child';
      readonly child: (TurnEntry & { readonly kind: 'child' })['child'];
      /** With the JSON text of its id and number, or with why it was refused. */
      readonly born: (text: string) => void;
      readonly refused: (error: Error) => void;
    }
);

interface Waiting {
  readonly entry: TurnEntry;
  readonly given: NewEntry;
  readonly length: number;
}

/** Entries in one turn, and their length. A node takes more, but they would hold up other workers. */
const MOST_ENTRIES = 250;
const MOST_LENGTH = 1024 * 1024;

/**
 * The turns of an attempt at a workflow, one at a time. What is noted is stored before the next effect begins, and at the latest when nothing else
 * is about to happen; so steps in a row take one commit each, and the last of them shares that of the end.
 */
export class TurnWriter {
  readonly #session: AttemptSession;
  #next: number;
  #notes: Waiting[] = [];
  #committing: Promise<void> | undefined;
  #over = false;

  constructor(session: AttemptSession, next: number) {
    this.#session = session;
    this.#next = next;
  }

  /** The attempt has left its lease: nothing more is stored. */
  get over(): boolean {
    return this.#over;
  }

  get busy(): boolean {
    return this.#committing !== undefined;
  }

  get waiting(): boolean {
    return this.#notes.length > 0;
  }

  /** Resolves nothing: it goes with the next turn. Returns the number of the entry. Throws for a value that cannot be stored. */
  note(given: NewEntry): number {
    const ordinal = this.#next;
    const key = entryKey(ordinal, given.what);
    const value = given.kind === 'child' ? given.child.input : given.value;
    const known = given.kind === 'child' ? undefined : given.length;
    const length = known ?? encodePayload(value ?? null, { field: given.what, ...entryBounds(given.kind) }).length;
    const entry: TurnEntry =
      given.kind === 'child'
        ? { key, kind: 'child', child: given.child }
        : {
            key,
            kind: given.kind,
            value: value ?? null,
            ...(given.began === undefined ? {} : { began: given.began }),
          };
    this.#next++;
    this.#notes.push({ entry, given, length });
    return ordinal;
  }

  /** Resolves when all that was noted before is stored. Undefined: it is. */
  flush(): Promise<void> | undefined {
    if (this.#notes.length === 0) return this.#committing;
    // What comes in the same moment shares the turn.
    this.#committing ??= this.#commitAll().finally(() => {
      this.#committing = undefined;
    });
    return this.#committing;
  }

  /** Stores what was noted together with how the attempt goes on. */
  async leave(then: () => TurnThen): Promise<Turned> {
    while (this.#committing !== undefined) await this.#committing;
    const leaving = this.#leave(then);
    const over = (): void => (this.#committing = undefined);
    this.#committing = leaving.then(over, over);
    return leaving;
  }

  async #leave(then: () => TurnThen): Promise<Turned> {
    while (this.#notes.length > 0 && this.#take(false).length < this.#notes.length) await this.#send(this.#take(true));
    const last = this.#take(true);
    try {
      return await this.#turn(last, then());
    } catch (error) {
      if (!isRefusal(error) || !last.some(({ given }) => given.kind === 'child')) throw error;
      // One child that is refused fails alone, and the workflow hears of it.
      for (const one of last) await this.#send([one]);
      return { went: 'woken', entries: [] };
    }
  }

  async #commitAll(): Promise<void> {
    await Promise.resolve();
    while (this.#notes.length > 0 && !this.#over) await this.#send(this.#take(true));
  }

  #take(away: boolean): readonly Waiting[] {
    let length = 0;
    const over = this.#notes.findIndex((one, i) => {
      length += one.length;
      return i > 0 && (i >= MOST_ENTRIES || length > MOST_LENGTH);
    });
    const count = over === -1 ? this.#notes.length : over;
    return away ? this.#notes.splice(0, count) : this.#notes.slice(0, count);
  }

  async #send(some: readonly Waiting[]): Promise<void> {
    try {
      await this.#turn(some, { go: 'on' });
    } catch (error) {
      if (!isRefusal(error)) throw error;
      const [only] = some;
      if (some.length > 1) for (const one of some) await this.#send([one]);
      else if (only?.given.kind === 'child') only.given.refused(error as Error);
      else throw error;
    }
  }

  async #turn(some: readonly Waiting[], then: TurnThen): Promise<Turned> {
    const turned = await this.#session.turn({ entries: some.map(({ entry }) => entry), then });
    for (const [i, { given }] of some.entries()) {
      const text = turned.entries[i];
      if (given.kind === 'child' && typeof text === 'string') given.born(text);
    }
    this.#over = turned.went !== 'on' && turned.went !== 'woken';
    return turned;
  }
}

/** The turn is not possible: the attempt itself goes on. */
function isRefusal(error: unknown): boolean {
  return isEngineError(error) && error.code !== 'LEASE_LOST' && !error.retryable;
}
