/**
 * What a tool loop has done, so that another attempt at the same step goes on where this one was cut off. Entries have names:
 *
 *   m:0, m:1 …   an answer of the model, with what it used up
 *   t:ID         the result of a tool call
 *   b:ID         a tool call is about to be made: it stands before the effect, and says after a crash that it may have happened
 *   c:NAME       the context as a hook has left it
 *
 * Everything that has happened is in the ledger before anything else happens outside. So a crash loses at most the last effect, and its
 * mark tells of that.
 */
import type { ValueMap } from '../../flow/expression/values.ts';
import type { AgentCallRecord } from '../../flow/machine/commands.ts';

export interface LedgerEntry {
  readonly key: string;
  readonly kind: 'element' | 'mark';
  readonly value: ValueMap;
  /** What the calls behind an answer used up. */
  readonly usage?: readonly AgentCallRecord[];
}

export interface Ledger {
  /** What stands under this name, also from an earlier attempt. */
  read(key: string): Promise<ValueMap | undefined>;
  /** Writes all of them or none. When it resolves, no crash can take them away. */
  commit(entries: readonly LedgerEntry[]): Promise<void>;
}

/** Lasts as long as the process: for runs with nothing stored. */
export class MemoryLedger implements Ledger {
  readonly #entries = new Map<string, string>();

  read(key: string): Promise<ValueMap | undefined> {
    const text = this.#entries.get(key);
    return Promise.resolve(text === undefined ? undefined : (JSON.parse(text) as ValueMap));
  }

  commit(entries: readonly LedgerEntry[]): Promise<void> {
    for (const { key, value } of entries) this.#entries.set(key, JSON.stringify(value));
    return Promise.resolve();
  }
}

/** Collects entries until the next effect, so that those between two effects are written together. */
export class LedgerWriter {
  readonly #ledger: Ledger;
  #open: LedgerEntry[] = [];

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  read(key: string): Promise<ValueMap | undefined> {
    return this.#ledger.read(key);
  }

  note(entry: LedgerEntry): void {
    this.#open.push(entry);
  }

  /** Before anything happens outside. */
  async settle(): Promise<void> {
    if (this.#open.length === 0) return;
    const entries = this.#open;
    this.#open = [];
    await this.#ledger.commit(entries);
  }
}

/** One ledger for several calls at once: each has a part of its names, and their commits come one after the other. */
export class SharedLedger {
  readonly #ledger: Ledger;
  #line: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  part(prefix: string): Ledger {
    return {
      read: (key) => this.#ledger.read(`${prefix}${key}`),
      commit: (entries) => {
        const named = entries.map((entry) => ({ ...entry, key: `${prefix}${entry.key}` }));
        const done = this.#line.then(() => (this.#isClosed ? undefined : this.#ledger.commit(named)));
        this.#line = done.catch(() => {});
        return done;
      },
    };
  }

  /** The step goes on: what calls that nobody waits for still do is not kept. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#line;
  }
}
