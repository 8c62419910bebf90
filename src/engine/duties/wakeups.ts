import type { World } from '../../core/world.ts';

/** A wait that is armed before the look whose emptiness it follows, so that what comes during the look is not missed. */
export interface Armed {
  readonly came: Promise<void>;
  readonly forget: () => void;
}

/** Wake-ups are hints: each only shortens a wait, and behind each stands a poll with jitter, at most `pollMs` later. */
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

  /** Comes with the next wake-up, the poll, the abort, or after `maxMs`. */
  arm(signal?: AbortSignal, maxMs = Number.POSITIVE_INFINITY): Armed {
    let forget = (): void => {};
    const came = new Promise<void>((resolve) => {
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
    return { came, forget: () => forget() };
  }
}
