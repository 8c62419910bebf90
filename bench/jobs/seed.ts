import { type Queue, thousand } from '../contenders/contender.ts';

export interface SeedArgs {
  readonly finished: number;
  readonly tasks: number;
}

/** Fills the queue; not measured. */
export async function seed(queue: Queue, { finished, tasks }: SeedArgs): Promise<void> {
  if (finished > 0) {
    if (!queue.seedFinished) throw new Error('this contender cannot seed finished tasks');
    await queue.seedFinished(finished);
  }
  for (let left = tasks; left > 0; left -= 1000) await queue.pushMany(thousand.slice(0, left));
}
