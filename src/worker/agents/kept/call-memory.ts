import type { ValueMap } from '../../../flow/expression/values.ts';
import type { Ledger } from '../ledger.ts';

/** More checkpoints of one step are no checkpoints but a log. */
const MOST = 10_000;

/**
 * What an agent that works for long keeps for another attempt at the same step: checkpoints, of which the newest counts. Entries of the
 * ledger stay as they are, so each checkpoint has a name of its own: `k:0`, `k:1` …
 */
export class CallMemory {
  /** Of the step: the same for every try of every attempt. */
  readonly key: string;
  readonly #ledger: Ledger;
  #count = 0;
  #newest: ValueMap | undefined;
  #isRead = false;
  #isCounted = false;
  #next: ValueMap | undefined;
  #writing: Promise<void> | undefined;

  constructor(ledger: Ledger, key: string) {
    this.key = key;
    this.#ledger = ledger;
  }

  /**
   * The newest, and whether what it says was used is counted by now: a try of this attempt has told it with its end. Of an earlier attempt nobody
   * has, and the first who asks does.
   */
  async resume(): Promise<{ readonly value: ValueMap | undefined; readonly isCounted: boolean }> {
    const value = await this.newest();
    const isCounted = this.#isCounted;
    this.#isCounted = true;
    return { value, isCounted };
  }

  /** Undefined: nothing was kept. */
  async newest(): Promise<ValueMap | undefined> {
    for (; !this.#isRead; this.#count++) {
      const value = await this.#ledger.read(`k:${this.#count}`);
      if (value === undefined) {
        this.#isRead = true;
        break;
      }
      this.#newest = value;
    }
    return this.#next ?? this.#newest;
  }

  /** When it resolves, this or a newer one is stored. While one is written, only the newest of those that come waits. */
  async keep(value: ValueMap): Promise<void> {
    await this.newest();
    this.#next = value;
    for (;;) {
      const writing = this.#writing;
      if (writing !== undefined) await writing;
      else if (this.#next === undefined) return;
      else await this.#write(this.#next);
    }
  }

  #write(value: ValueMap): Promise<void> {
    if (this.#count >= MOST) throw new RangeError(`an agent keeps at most ${MOST} checkpoints`);
    this.#next = undefined;
    const write = async (): Promise<void> => {
      try {
        await this.#ledger.commit([{ key: `k:${this.#count}`, kind: 'element', value }]);
        this.#count++;
        this.#newest = value;
      } finally {
        this.#writing = undefined;
      }
    };
    this.#writing = write();
    return this.#writing;
  }
}
