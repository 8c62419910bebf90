import type { WatchParams } from '../store.ts';
import type { Connection } from './file/connection.ts';
import { watchCommits } from './file/watch.ts';
import type { SqliteParts } from './parts.ts';

/**
 * The watchers of one store. They are called for commits of other processes, and for tasks that this process wakes and
 * no answer names.
 */
export class Watchers {
  readonly #parts: SqliteParts;
  readonly #watches = new Set<() => void>();
  /** Called for tasks that this process wakes. */
  readonly #listeners = new Set<WatchParams['onChange']>();

  constructor(parts: SqliteParts) {
    this.#parts = parts;
  }

  watch({ wanted, onChange }: WatchParams): () => void {
    const listener: WatchParams['onChange'] = (lanes) => onChange(lanes);
    this.#listeners.add(listener);
    const { file, world, inMemory, writer } = this.#parts;
    const connection = (): Connection => writer.connection;
    const commits = (): number => writer.commits;
    const watching = { file, connection, timers: world.timers, wanted, onChange, commits };
    const stop = inMemory ? () => {} : watchCommits(watching);
    this.#watches.add(stop);
    return () => {
      this.#listeners.delete(listener);
      this.#watches.delete(stop);
      stop();
    };
  }

  /** Tasks that no answer names were woken in these lanes. */
  woken(lanes: readonly number[]): void {
    if (lanes.length > 0) for (const listener of this.#listeners) listener(lanes);
  }

  close(): void {
    for (const stop of this.#watches) stop();
  }
}
