import type { ValueMap } from '../../../flow/expression/values.ts';
import type { Turned, ValueEntry } from '../../../protocol/link.ts';
import type { Ledger, LedgerEntry } from '../../agents/ledger.ts';

/** What a tool loop has done, in the journal of its task, below the key of its step. */
export class JournalLedger implements Ledger {
  readonly #journal: Map<string, string>;
  readonly #step: string;
  readonly #write: (entries: readonly ValueEntry[]) => Promise<Turned>;

  constructor(journal: Map<string, string>, step: string, write: (entries: readonly ValueEntry[]) => Promise<Turned>) {
    this.#journal = journal;
    this.#step = step;
    this.#write = write;
  }

  read(key: string): Promise<ValueMap | undefined> {
    const text = this.#journal.get(`${this.#step}/${key}`);
    return Promise.resolve(text === undefined ? undefined : (JSON.parse(text) as ValueMap));
  }

  async commit(entries: readonly LedgerEntry[]): Promise<void> {
    const values = entries.map(({ key, kind, value, usage }) => ({
      key: `${this.#step}/${key}`,
      kind,
      value,
      ...(usage === undefined ? {} : { usage }),
    }));
    const turned = await this.#write(values);
    // The first that was ever written there counts.
    for (const [i, { key, value }] of values.entries()) {
      this.#journal.set(key, turned.entries[i] ?? JSON.stringify(value));
    }
  }
}
