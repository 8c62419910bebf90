/** What a run opens for its agents and holds until it ends. */
export interface Held {
  /** It cannot be used any more, and is opened again. */
  readonly isGone: boolean;
  close(): Promise<void>;
}

export class RunScope {
  readonly #held = new Map<string, Promise<Held>>();
  #isOver = false;

  /** Opened by the first who asks for it. What could not be opened is tried again by the next. */
  async hold<T extends Held>(key: string, open: () => Promise<T>): Promise<T> {
    const before = this.#held.get(key);
    const known = await before?.catch(() => undefined);
    if (known !== undefined && !known.isGone) return known as T;
    if (this.#isOver) throw new Error('the run is over');
    // Another one may have come first while this one looked.
    const other = this.#held.get(key);
    if (other !== undefined && other !== before) return other as Promise<T>;
    const opening = open();
    this.#held.set(key, opening);
    opening.catch(() => {
      if (this.#held.get(key) === opening) this.#held.delete(key);
    });
    return opening;
  }

  /** Resolves when nothing of it is left. */
  async close(): Promise<void> {
    this.#isOver = true;
    const all = [...this.#held.values()];
    this.#held.clear();
    await Promise.allSettled(all.map(async (held) => (await held).close()));
  }
}
