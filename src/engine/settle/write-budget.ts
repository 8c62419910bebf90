/** How much was written: so many entries, so many bytes. */
export interface Written {
  readonly entries: number;
  readonly bytes: number;
}

export interface WriteBudgetOptions {
  /** What may be written under one key at all. */
  readonly most: Written;
  /** So much is written between two looks at the store. A short log or journal costs no read. */
  readonly unread: Written;
  /** What the store has under this key. */
  readonly read: (key: string) => Promise<Written>;
}

interface Spent {
  /** As the store has said it; undefined: it was not asked yet. */
  known: Written | undefined;
  /** Written since then, by this process. */
  since: Written;
}

const NOTHING: Written = { entries: 0, bytes: 0 };
/** Keys that are remembered; a forgotten one is asked for again when it has written as much as is allowed unread. */
const MAX_KEYS = 10_000;

/**
 * Bounds what is written under one key, such as the log of an attempt. This process counts what it writes, and asks the store from
 * time to time, because other processes write as well. Nothing is refused before the store was asked, since a call that is repeated
 * counts twice here and once there. With several nodes the bound may be passed by what each of them writes unread.
 */
export class WriteBudget {
  readonly #options: WriteBudgetOptions;
  /** The one that was used last is at the end. */
  readonly #spent = new Map<string, Spent>();

  constructor(options: WriteBudgetOptions) {
    this.#options = options;
  }

  /** Counts what is about to be written. False: it does not fit any more. The answer is at hand where the store need not be asked. */
  admit(key: string, adding: Written): boolean | Promise<boolean> {
    const spent = this.#of(key);
    const since = sum(spent.since, adding);
    if (exceeds(since, this.#options.unread) || (spent.known && exceeds(sum(spent.known, since), this.#options.most))) {
      return this.#ask(key, spent, adding);
    }
    spent.since = since;
    return true;
  }

  async #ask(key: string, spent: Spent, adding: Written): Promise<boolean> {
    spent.known = await this.#options.read(key);
    spent.since = NOTHING;
    if (exceeds(sum(spent.known, adding), this.#options.most)) return false;
    spent.since = adding;
    return true;
  }

  #of(key: string): Spent {
    const spent = this.#spent.get(key) ?? { known: undefined, since: NOTHING };
    this.#spent.delete(key);
    this.#spent.set(key, spent);
    const [oldest] = this.#spent.keys();
    if (this.#spent.size > MAX_KEYS && oldest !== undefined) this.#spent.delete(oldest);
    return spent;
  }
}

const sum = (a: Written, b: Written): Written => ({ entries: a.entries + b.entries, bytes: a.bytes + b.bytes });
const exceeds = (a: Written, most: Written): boolean => a.entries > most.entries || a.bytes > most.bytes;
