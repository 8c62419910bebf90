import type { Store } from '../store/store.ts';

/** Of one worker; what it has met before that it can still read by public ids. */
const MOST = 100_000;
/** Under this a handler remembers each of its children; see worker/memory. */
const SPAWNED = 'spawn:';

/**
 * Tasks that a worker of another machine may ask for by their numbers: those that it has run or spawned, and the children of the
 * one that it runs. Numbers can be counted up, and must not show it the results of everybody.
 */
export class Acquaintances {
  readonly #store: Pick<Store, 'checkpointScan'>;
  #met = new Set<number>();

  constructor(store: Pick<Store, 'checkpointScan'>) {
    this.#store = store;
  }

  meet(task: number): void {
    if (this.#met.size >= MOST) this.#met = new Set();
    this.#met.add(task);
  }

  /** Which of these it may ask for while it runs `task`. */
  async among(task: number, numbers: readonly number[]): Promise<ReadonlySet<number>> {
    if (numbers.some((number) => !this.#met.has(number))) {
      for (const { value } of await this.#store.checkpointScan({ tasks: [task], prefix: SPAWNED })) {
        const child = childOf(value);
        if (child !== undefined) this.meet(child);
      }
    }
    return new Set(numbers.filter((number) => this.#met.has(number)));
  }
}

function childOf(text: string): number | undefined {
  const { task } = (JSON.parse(text) ?? {}) as { readonly task?: unknown };
  return typeof task === 'number' ? task : undefined;
}
