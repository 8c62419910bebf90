import type { Counts, Queue } from '../contenders/contender.ts';

export async function count(queue: Queue, _args: Record<string, never>): Promise<Counts> {
  return await queue.counts();
}
