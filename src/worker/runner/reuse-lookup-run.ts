import type { Reusable } from '../../protocol/link.ts';
import type { ActiveRun, Ladder, LogSink, RunOutcome, StopReason } from './runner.ts';

export interface ReuseLookupParts {
  /** Faults of the store are waited out. */
  readonly find: () => Promise<Reusable | undefined>;
  readonly start: () => ActiveRun;
  readonly sink: LogSink;
}

/** A run that first looks for a kept result of an equal task, and calls the handler only when there is none. */
export class ReuseLookupRun implements ActiveRun {
  readonly ended: Promise<RunOutcome>;
  readonly #resolve: (ended: RunOutcome) => void;
  #running: ActiveRun | undefined;
  #stopped = false;

  constructor(parts: ReuseLookupParts) {
    const { promise, resolve } = Promise.withResolvers<RunOutcome>();
    this.ended = promise;
    this.#resolve = resolve;
    void this.#begin(parts).then(resolve, (error: unknown) => resolve({ kind: 'unstarted', error }));
  }

  stop(why: StopReason, ladder: Ladder): void {
    this.#stopped = true;
    if (this.#running !== undefined) this.#running.stop(why, ladder);
    else this.#resolve(UNSTARTED);
  }

  async #begin({ find, start, sink }: ReuseLookupParts): Promise<RunOutcome> {
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

/** The run was stopped before anything of it ran. */
const UNSTARTED: RunOutcome = Object.freeze({ kind: 'unstarted', error: undefined });
