import type { Reusable } from '../../protocol/link.ts';
import type { Ended, Ladder, Running, Sink, StopWhy } from './runner.ts';

export interface ReusingParts {
  /** Faults of the store are waited out. */
  readonly find: () => Promise<Reusable | undefined>;
  readonly start: () => Running;
  readonly sink: Sink;
}

/** A run that begins with a look at what tasks like it have come to, and needs no handler where there is something. */
export class ReusingRun implements Running {
  readonly ended: Promise<Ended>;
  readonly #resolve: (ended: Ended) => void;
  #running: Running | undefined;
  #stopped = false;

  constructor(parts: ReusingParts) {
    const { promise, resolve } = Promise.withResolvers<Ended>();
    this.ended = promise;
    this.#resolve = resolve;
    void this.#begin(parts).then(resolve, (error: unknown) => resolve({ kind: 'unstarted', error }));
  }

  stop(why: StopWhy, ladder: Ladder): void {
    this.#stopped = true;
    if (this.#running !== undefined) this.#running.stop(why, ladder);
    else this.#resolve(UNSTARTED);
  }

  async #begin({ find, start, sink }: ReusingParts): Promise<Ended> {
    const found = await find();
    if (this.#stopped) return UNSTARTED;
    if (found === undefined) {
      this.#running = start();
      return this.#running.ended;
    }
    sink.line('system', `reused the result of ${found.id}`);
    return { kind: 'done', result: found.result === undefined ? undefined : (JSON.parse(found.result) as unknown) };
  }
}

/** It was told to stop before anything of it ran. */
const UNSTARTED: Ended = Object.freeze({ kind: 'unstarted', error: undefined });
