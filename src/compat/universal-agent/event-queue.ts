/** More that nobody takes is a listener that has gone to sleep. */
const MOST = 10_000;

/** Events that come by themselves, for somebody who asks for one after the other. */
export class EventQueue<T> {
  readonly #events: T[] = [];
  #end: { readonly error: unknown } | undefined;
  #wake: (() => void) | undefined;

  push(event: T): void {
    if (this.#end !== undefined) return;
    if (this.#events.length >= MOST) return this.end(new RangeError(`${MOST} events wait for somebody to take them`));
    this.#events.push(event);
    this.#wake?.();
  }

  end(error: unknown): void {
    this.#end ??= { error };
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void> {
    for (;;) {
      const event = this.#events.shift();
      if (event !== undefined) {
        yield event;
        continue;
      }
      if (this.#end !== undefined) {
        if (this.#end.error !== undefined) throw this.#end.error;
        return;
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
