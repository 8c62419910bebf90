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

/** Everything of it is made when it is asked for: a short handler looks at nothing. It may be taken apart: `{ log, signal }`. */
class Context implements TaskContext {
  readonly #job: Job;
  readonly #parts: ContextParts;

  constructor(job: Job, parts: ContextParts) {
    this.#job = job;
    this.#parts = parts;
  }

  get id(): string {
    return this.#job.id;
  }

  get queue(): string {
    return this.#job.queue;
  }

  get signal(): AbortSignal {
    return this.#parts.signal;
  }

  get attempt(): number {
    return this.#job.attempt;
  }

  get fence(): number {
    return this.#job.attempt;
  }

  get tries(): number {
    return this.#job.tries;
  }

  get maxAttempts(): number {
    return this.#job.maxTries;
  }

  get log(): (message: string) => void {
    return this.#parts.log;
  }

  get progress(): (value: unknown) => void {
    return this.#parts.progress;
  }
}
