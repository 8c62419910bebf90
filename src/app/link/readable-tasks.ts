import type { Store } from '../../store/store.ts';

/** Per worker. Tasks that are forgotten can still be read by their public ids. */
const MOST = 100_000;
/**
 * Tasks that a remote worker may read by their numbers: those that it has run or spawned, and the children of the task that it runs.
 * Numbers can be guessed by counting, and must not give access to the results of others. The node itself writes which tasks are children.
 */
export class ReadableTasks {
  readonly #store: Pick<Store, 'journalList'>;
  #met = new Set<number>();

  constructor(store: Pick<Store, 'journalList'>) {
    this.#store = store;
  }

  meet(task: number): void {
    if (this.#met.size >= MOST) this.#met = new Set();
    this.#met.add(task);
  }

  /** Whether that is known without a read. */
  knows(task: number): boolean {
    return this.#met.has(task);
  }

  /** Which of these it may read while it runs `task`. */
  async among(task: number, numbers: readonly number[]): Promise<ReadonlySet<number>> {
    if (numbers.some((number) => !this.#met.has(number))) {
      for (const { ref } of await this.#store.journalList({ task })) if (ref !== undefined) this.meet(ref);
    }
    return new Set(numbers.filter((number) => this.#met.has(number)));
  }
}
