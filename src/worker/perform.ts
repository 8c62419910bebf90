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
    return outcomeOf(await definition.run(input, contextOf(job, parts)));
  } catch (error) {
    return { kind: 'failed', error };
  }
}

function contextOf(job: Job, parts: ContextParts): TaskContext {
  const { id, queue, attempt, tries, maxTries } = job;
  const { log, progress } = parts;
  return {
    id,
    queue,
    // Asked for when it is used: an inline run makes its signal only then.
    get signal() {
      return parts.signal;
    },
    attempt,
    fence: attempt,
    tries,
    maxAttempts: maxTries,
    log,
    progress,
  };
}
