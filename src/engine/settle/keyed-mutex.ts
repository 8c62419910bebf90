/** Those of this process who change the same thing do so one after another, in the order in which they came. */
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
