import type { World } from '../../core/world.ts';

/** A wait that is armed before the read that may come back empty, so that nothing that arrives during the read is missed. */
export interface ArmedWait {
  readonly woken: Promise<void>;
  readonly forget: () => void;
}

/** Wakes followers of events and logs. A wake-up only shortens a wait: behind each stands a poll with jitter, at most `pollMs` later. */
export class Wakeups {
  readonly #world: World;
  readonly #pollMs: number;
  #waiting = new Set<() => void>();

  constructor(world: World, pollMs: number) {
    this.#world = world;
    this.#pollMs = pollMs;
  }

  get awaited(): boolean {
    return this.#waiting.size > 0;
  }

  wake(): void {
    if (this.#waiting.size === 0) return;
    const waiting = this.#waiting;
    this.#waiting = new Set();
    for (const done of waiting) done();
  }

  /** Resolves at the next wake-up, the poll or the abort, or after `maxMs`. */
  arm(signal?: AbortSignal, maxMs = Number.POSITIVE_INFINITY): ArmedWait {
    let forget = (): void => {};
    const woken = new Promise<void>((resolve) => {
      const done = (): void => {
        forget();
        resolve();
      };
      const poll = this.#pollMs * (0.5 + this.#world.random() / 2);
      const cancel = this.#world.timers.after(Math.max(1, Math.min(poll, maxMs)), done);
      this.#waiting.add(done);
      signal?.addEventListener('abort', done, { once: true });
      forget = (): void => {
        cancel();
        this.#waiting.delete(done);
        signal?.removeEventListener('abort', done);
      };
    });
    return { woken, forget: () => forget() };
  }
}
