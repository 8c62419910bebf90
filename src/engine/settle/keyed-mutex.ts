/** A mutex per key, within this process: work on the same key runs one after the other, in the order of the calls. */
export class KeyedMutex {
  readonly #last = new Map<string | number, Promise<void>>();

  async take<T>(thing: string | number, act: () => Promise<T>): Promise<T> {
    const before = this.#last.get(thing);
    const own = before === undefined ? act() : before.then(act);
    const over = own.then(
      () => {},
      () => {},
    );
    this.#last.set(thing, over);
    try {
      return await own;
    } finally {
      if (this.#last.get(thing) === over) this.#last.delete(thing);
    }
  }
}
