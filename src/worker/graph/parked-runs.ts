import type { GraphDriver } from './graph-driver.ts';

/** An attempt at a run. By its public id: handlers may work on several stores. */
interface AttemptAt {
  readonly id: string;
  readonly attempt: number;
}

interface Parked {
  readonly attempt: number;
  readonly driver: GraphDriver;
}

const MOST_RUNS = 100;
/** Of all graphs together: a run keeps what its open nodes need. */
const MOST_NODES = 100_000;

/**
 * Drivers of runs that this worker has parked. If the next attempt comes to it too, it goes on without reading the journal: a chain of n nodes
 * parks n times. Only a shortcut: whoever has no driver, or an older one, reads the journal.
 */
export class ParkedRuns {
  readonly #runs = new Map<string, Parked>();
  #nodes = 0;

  /** Undefined: another worker has had the task since, or it was long ago. */
  take({ id, attempt }: AttemptAt): GraphDriver | undefined {
    const parked = this.#runs.get(id);
    if (parked === undefined) return undefined;
    this.#drop(id, parked);
    return parked.attempt === attempt - 1 ? parked.driver : undefined;
  }

  put({ id, attempt }: AttemptAt, driver: GraphDriver): void {
    if (!driver.isKept || driver.size > MOST_NODES) return;
    const before = this.#runs.get(id);
    if (before !== undefined) this.#drop(id, before);
    this.#runs.set(id, { attempt, driver });
    this.#nodes += driver.size;
    for (const [oldest, parked] of this.#runs) {
      if (this.#runs.size <= MOST_RUNS && this.#nodes <= MOST_NODES) return;
      this.#drop(oldest, parked);
    }
  }

  #drop(id: string, { driver }: Parked): void {
    this.#runs.delete(id);
    this.#nodes -= driver.size;
  }
}
