import { type Payload, payload, type Queue } from '../contenders/contender.ts';

export interface SeedArgs {
  /** To be worked off; each has its number in the payload. */
  readonly tasks: number;
  /** Already finished. */
  readonly finished?: number;
  /** Waiting in a queue that nobody works off. */
  readonly aside?: number;
}

/** Fills the queue; not measured. */
export async function seed(queue: Queue, { tasks, finished = 0, aside = 0 }: SeedArgs): Promise<void> {
  if (finished > 0) {
    if (!queue.seedFinished) throw new Error('this contender cannot seed finished tasks');
    await queue.seedFinished(finished);
  }
  for (const chunk of chunks(aside)) {
    if (!queue.pushAside) throw new Error('this contender has no second queue');
    await queue.pushAside(chunk);
  }
  for (const chunk of chunks(tasks)) await queue.pushMany(chunk);
}

function* chunks(total: number): Generator<readonly Payload[]> {
  for (let from = 0; from < total; from += 1000)
    yield Array.from({ length: Math.min(1000, total - from) }, (_, n) => payload(from + n));
}
