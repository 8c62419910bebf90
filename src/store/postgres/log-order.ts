/**
 * The last log lines of an attempt and its end are sent at the same time. On two connections the end might arrive
 * first, and the lines would be refused. So a call that ends an attempt waits for its lines that are still being sent.
 */
export class LogOrder {
  readonly #writing = new Map<number, Promise<unknown>>();

  /** Lines of these tasks are being sent until `sent` settles. */
  add(tasks: Iterable<number>, sent: Promise<unknown>): void {
    const over = sent.catch(() => {});
    for (const task of tasks) {
      const before = this.#writing.get(task);
      const both = before === undefined ? over : Promise.all([before, over]);
      this.#writing.set(task, both);
      void both.then(() => {
        if (this.#writing.get(task) === both) this.#writing.delete(task);
      });
    }
  }

  /** Waits for the lines of these tasks that are being sent. Undefined if there are none, which costs no turn of the loop. */
  behind(items: readonly { readonly task: number }[]): Promise<unknown> | undefined {
    if (this.#writing.size === 0) return undefined;
    const pending = items.flatMap(({ task }) => this.#writing.get(task) ?? []);
    return pending.length === 0 ? undefined : Promise.all(pending);
  }
}
