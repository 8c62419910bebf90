/** A condition variable: `next` waits for the next `open`, which releases all waiters. */
export class Gate {
  #opening = Promise.withResolvers<void>();
  #awaited = false;

  next(): Promise<void> {
    this.#awaited = true;
    return this.#opening.promise;
  }

  open(): void {
    if (!this.#awaited) return;
    const { resolve } = this.#opening;
    this.#opening = Promise.withResolvers<void>();
    this.#awaited = false;
    resolve();
  }
}
