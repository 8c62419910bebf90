import type { AnyTask, TaskContext } from './definition.ts';
import { outcomeOf } from './outcome.ts';
import type { Ended, Job } from './runner/runner.ts';
import { parseInput } from './schema.ts';

export interface ContextParts {
  readonly signal: AbortSignal;
  readonly log: (message: string) => void;
  readonly progress: (value: unknown) => void;
}

/** Runs a handler on a job, wherever that is. Never rejects: whatever it throws is how the attempt ended. */
export async function perform(definition: AnyTask, job: Job, parts: ContextParts): Promise<Ended> {
  let input: unknown;
  try {
    input = JSON.parse(job.payload);
    if (definition.schema !== undefined) input = await parseInput(definition.schema, input, job.handler);
  } catch (error) {
    // The same input will be refused again.
    return { kind: 'giveUp', error };
  }
  try {
    return outcomeOf(await definition.run(input, new Context(job, parts)));
  } catch (error) {
    return { kind: 'failed', error };
  }
}

/**
 * Plain values are there; what costs something is made when it is asked for, because a short handler looks at nothing. It
 * may be taken apart: `{ log, signal }`.
 */
class Context implements TaskContext {
  readonly id: string;
  readonly queue: string;
  readonly attempt: number;
  readonly fence: number;
  readonly tries: number;
  readonly maxAttempts: number;
  readonly #parts: ContextParts;

  constructor({ id, queue, attempt, tries, maxTries }: Job, parts: ContextParts) {
    this.id = id;
    this.queue = queue;
    this.attempt = attempt;
    this.fence = attempt;
    this.tries = tries;
    this.maxAttempts = maxTries;
    this.#parts = parts;
  }

  get signal(): AbortSignal {
    return this.#parts.signal;
  }

  get log(): (message: string) => void {
    return this.#parts.log;
  }

  get progress(): (value: unknown) => void {
    return this.#parts.progress;
  }
}
