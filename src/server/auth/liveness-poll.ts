import type { World } from '../../core/world.ts';

export interface LivenessPollOptions {
  /** Which of these are live, in order. */
  readonly alive: (ids: readonly number[]) => Promise<readonly boolean[]>;
  readonly everyMs: number;
  readonly world: Pick<World, 'timers'>;
  /** Called before the connections of an id are ended. */
  readonly onEnded?: ((id: number) => void) | undefined;
}

/** Ends connections when the token or the session behind them has ended, at whichever node. It looks only while somebody listens. */
export class LivenessPoll {
  readonly #options: LivenessPollOptions;
  readonly #listeners = new Map<number, Set<() => void>>();
  #stopPolling: (() => void) | undefined;

  constructor(options: LivenessPollOptions) {
    this.#options = options;
  }

  /** Calls `end` when this one has ended. Returns a function that stops this. */
  watch(id: number, end: () => void): () => void {
    const ends = this.#listeners.get(id) ?? new Set();
    this.#listeners.set(id, ends.add(end));
    this.#pollLater();
    return () => {
      ends.delete(end);
      // A new connection may have replaced the set meanwhile. Deleting that one would leave it without its end.
      if (ends.size === 0 && this.#listeners.get(id) === ends) this.#listeners.delete(id);
    };
  }

  close(): void {
    this.#stopPolling?.();
    this.#stopPolling = undefined;
    this.#listeners.clear();
  }

  #pollLater(): void {
    this.#stopPolling ??= this.#options.world.timers.after(
      this.#options.everyMs,
      () => {
        void this.#poll().finally(() => {
          this.#stopPolling = undefined;
          if (this.#listeners.size > 0) this.#pollLater();
        });
      },
      { unref: true },
    );
  }

  async #poll(): Promise<void> {
    const ids = [...this.#listeners.keys()];
    // A store that does not answer says nothing about them: connections stay until it does.
    const alive = await this.#options.alive(ids).catch(() => ids.map(() => true));
    for (const [i, id] of ids.entries()) {
      if (alive[i] === true) continue;
      this.#options.onEnded?.(id);
      const ends = this.#listeners.get(id) ?? [];
      this.#listeners.delete(id);
      for (const end of ends) end();
    }
  }
}
