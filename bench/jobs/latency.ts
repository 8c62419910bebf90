import { setTimeout as delay } from 'node:timers/promises';
import { payload, type Queue, sentAt } from '../contenders/contender.ts';
import { type Line, micros } from './line.ts';

/** First pushes that do not count: code and caches are cold. */
export const WARM = 10;

export interface LatencyArgs {
  readonly pushes: number;
  readonly everyMs: number;
  /** How many of the first do not count. */
  readonly skip?: number;
}

/** Works, and says how long each push took to reach its handler (ms). */
export async function receive(
  queue: Queue,
  { skip = WARM }: LatencyArgs,
  line: Line,
  meanwhile = async (): Promise<void> => {},
): Promise<readonly number[]> {
  const samples: number[] = [];
  let received = 0;
  const worker = await queue.worker({
    handle: (data) => {
      const now = micros();
      const sent = sentAt(data);
      if (received++ >= skip) samples.push((now - sent) / 1000);
    },
    settled: () => {},
  });
  await line.barrier();
  await worker.start();
  await Promise.all([meanwhile(), line.untilStopped(() => received)]);
  await worker.stop();
  return samples;
}

/** Pushes at an uneven pace; how long a push takes is part of the latency. */
export async function send(queue: Queue, { pushes, everyMs, skip = WARM }: LatencyArgs): Promise<void> {
  for (let n = 0; n < pushes + skip; n++) {
    await delay(everyMs * (0.5 + Math.random()));
    await queue.push(payload(micros()));
  }
}

/** Both in one process. */
export async function echo(queue: Queue, args: LatencyArgs, line: Line): Promise<readonly number[]> {
  return await receive(queue, args, line, () => send(queue, args));
}
