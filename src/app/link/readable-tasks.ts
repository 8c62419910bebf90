import type { Store } from '../../store/store.ts';

/** Of one worker; what it has met before that it can still read by public ids. */
const MOST = 100_000;
/**
 * Tasks that a worker of another machine may ask for by their numbers: those that it has run or spawned, and the children of the
 * one that it runs. Numbers can be counted up, and must not show it the results of everybody. Who is a child is written by the
 * node, with its birth.
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

  /** As far as is known without a look. */
  knows(task: number): boolean {
    return this.#met.has(task);
  }

  /** Which of these it may ask for while it runs `task`. */
  async among(task: number, numbers: readonly number[]): Promise<ReadonlySet<number>> {
    if (numbers.some((number) => !this.#met.has(number))) {
      for (const { ref } of await this.#store.journalList({ task })) if (ref !== undefined) this.meet(ref);
    }
    return new Set(numbers.filter((number) => this.#met.has(number)));
  }
}
