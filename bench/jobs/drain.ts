import type { Counts, Queue } from '../contenders/contender.ts';
import { type Line, micros } from './line.ts';

export interface DrainArgs {
  readonly total: number;
}

export interface DrainResult {
  readonly executions: number;
  /** Monotonic µs of this process's last completion. */
  readonly lastAt: number;
  readonly cpuMicros: number;
  readonly rssMb: number;
  readonly counts: Counts;
}

/** Works with no-op handlers until the bench has seen `total` completions over all processes. */
export async function drain(queue: Queue, { total }: DrainArgs, line: Line): Promise<DrainResult> {
  let executions = 0;
  let settled = 0;
  let lastAt = 0;
  let used: { cpuMicros: number; rssMb: number } | undefined;
  const usage = (): { cpuMicros: number; rssMb: number } => {
    const { user, system } = process.cpuUsage(before);
    return { cpuMicros: user + system, rssMb: process.memoryUsage.rss() / 1e6 };
  };
  const worker = await queue.worker({
    handle: () => {
      executions++;
    },
    settled: (count) => {
      settled += count;
      lastAt = micros();
      if (settled === total) used = usage();
    },
  });
  await line.barrier();
  const before = process.cpuUsage();
  worker.start();
  await line.untilStopped(() => settled);
  used ??= usage();
  await worker.stop();
  return { executions, lastAt, ...used, counts: await queue.counts() };
}
