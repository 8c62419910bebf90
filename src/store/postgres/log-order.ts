/**
 * What an attempt says and how it ends leave together, and on two connections the end might arrive first: then its last lines
 * would be refused. So whatever ends an attempt waits for the lines of it that are on their way.
 */
export class LogOrder {
  readonly #writing = new Map<number, Promise<unknown>>();

  /** Lines of these tasks are on their way until `sent` is decided. */
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

  /** Until the lines that are on their way now have arrived; undefined, and no turn of the loop, when there are none. */
  behind(items: readonly { readonly task: number }[]): Promise<unknown> | undefined {
    if (this.#writing.size === 0) return undefined;
    const pending = items.flatMap(({ task }) => this.#writing.get(task) ?? []);
    return pending.length === 0 ? undefined : Promise.all(pending);
  }
}
