import type { Session } from '../../protocol/link.ts';
import type { Attempt, AttemptOutcome } from '../attempt.ts';
import type { RunOutcome } from '../runner/runner.ts';

type Done = RunOutcome & { readonly kind: 'done' };

export interface CompletionsDeps {
  readonly session: () => Session | undefined;
  /** The end of the attempt is recorded. */
  readonly settled: (attempt: Attempt, outcome: AttemptOutcome) => void;
  /** Records an end by itself. `error`: its own; undefined: none of the call has an answer. */
  readonly settleAlone: (attempt: Attempt, outcome: Done, error: Error | undefined) => void;
}

/**
 * Plain ends, recorded together: those of one round of microtasks are one call of the link, with one promise for all of them. The
 * engine puts the calls of a turn of the loop into one commit. With a chain of promises for each, a no-op task cost half as much
 * again.
 */
export class Completions {
  readonly #deps: CompletionsDeps;
  #attempts: Attempt[] = [];
  #outcomes: Done[] = [];

  constructor(deps: CompletionsDeps) {
    this.#deps = deps;
  }

  add(attempt: Attempt, outcome: Done): void {
    this.#attempts.push(attempt);
    this.#outcomes.push(outcome);
    if (this.#attempts.length === 1) queueMicrotask(() => void this.#send());
  }

  async #send(): Promise<void> {
    const { session, settled, settleAlone } = this.#deps;
    const [attempts, outcomes] = [this.#attempts, this.#outcomes];
    [this.#attempts, this.#outcomes] = [[], []];
    const ends = attempts.map(({ assignment: lease }, i) => ({ lease, result: (outcomes[i] as Done).result }));
    const answers = await session()
      ?.completeMany?.(ends)
      .catch(() => undefined);
    for (const [i, attempt] of attempts.entries()) {
      const error = answers?.[i];
      if (answers === undefined || error !== undefined) settleAlone(attempt, outcomes[i] as Done, error);
      else {
        attempt.completed();
        settled(attempt, 'completed');
      }
    }
  }
}
