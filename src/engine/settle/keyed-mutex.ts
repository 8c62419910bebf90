/** A mutex per key, within this process: work on the same key runs one after the other, in the order of the calls. */
export class KeyedMutex {
  readonly #last = new Map<string | number, Promise<void>>();

  async take<T>(key: string | number, act: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    const result = before === undefined ? act() : before.then(act);
    const settled = result.then(
      () => {},
      () => {},
    );
    this.#last.set(key, settled);
    try {
      return await result;
    } finally {
      if (this.#last.get(key) === settled) this.#last.delete(key);
    }
  }
}
