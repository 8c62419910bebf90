import { setTimeout as delay } from 'node:timers/promises';
import type { Queue } from '../contenders/contender.ts';

export interface IdleArgs {
  readonly ms: number;
}

export interface IdleResult {
  readonly rssMb: number;
  readonly cpuMillisPerSecond: number;
}

/** A worker with nothing to do. */
export async function idle(queue: Queue, { ms }: IdleArgs): Promise<IdleResult> {
  const worker = await queue.worker({ handle: () => {}, settled: () => {} });
  await worker.start();
  await delay(300);
  const before = process.cpuUsage();
  await delay(ms);
  const { user, system } = process.cpuUsage(before);
  const rssMb = process.memoryUsage.rss() / 1e6;
  await worker.stop();
  return { rssMb, cpuMillisPerSecond: (user + system) / ms };
}
