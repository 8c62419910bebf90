interface Signal {
  readonly data: unknown;
}

/** Signals of machines within one process. All that wait for a channel hear of it. One that nobody waits for is kept, for the first that asks. */
export class LocalSignals {
  readonly #kept = new Map<string, Signal[]>();
  readonly #waiters = new Map<string, Set<(signal: Signal) => void>>();

  send(channel: string, data: unknown): void {
    const waiters = [...(this.#waiters.get(channel) ?? [])];
    for (const take of waiters) take({ data });
    if (waiters.length > 0) return;
    const kept = this.#kept.get(channel) ?? [];
    this.#kept.set(channel, kept);
    kept.push({ data });
  }

  /** Whether one is kept there. */
  has(channel: string): boolean {
    return this.#kept.has(channel);
  }

  /** The first signal that is kept there; undefined: none is. */
  take(channel: string): Signal | undefined {
    const kept = this.#kept.get(channel);
    const first = kept?.shift();
    if (kept?.length === 0) this.#kept.delete(channel);
    return first;
  }

  /** The next signal of the channel. Rejects when `stop` is aborted. */
  async next(channel: string, stop: AbortSignal): Promise<Signal> {
    const first = this.take(channel);
    if (first !== undefined) return first;
    const { promise, resolve, reject } = Promise.withResolvers<Signal>();
    const waiters = this.#waiters.get(channel) ?? new Set();
    this.#waiters.set(channel, waiters);
    const take = (signal: Signal): void => {
      waiters.delete(take);
      resolve(signal);
    };
    waiters.add(take);
    const stopped = (): void => reject(stop.reason as Error);
    stop.addEventListener('abort', stopped, { once: true });
    try {
      return await promise;
    } finally {
      stop.removeEventListener('abort', stopped);
      waiters.delete(take);
      if (waiters.size === 0) this.#waiters.delete(channel);
    }
  }
}
