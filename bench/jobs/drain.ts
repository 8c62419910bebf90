import { numberOf, type Queue } from '../contenders/contender.ts';
import { type Line, micros } from './line.ts';
import { Tally } from './tally.ts';

export interface DrainArgs {
  readonly total: number;
}

export interface DrainResult {
  readonly executions: number;
  /** Which tasks were executed here: see `Tally`. */
  readonly tally: string;
  /** Monotonic µs at which this process had its worker running. */
  readonly firstAt: number;
  /** Monotonic µs of this process's last completion. */
  readonly lastAt: number;
  readonly cpuMicros: number;
  readonly rssMb: number;
}

/** Works with no-op handlers until the bench has seen `total` completions over all processes. */
export async function drain(queue: Queue, { total }: DrainArgs, line: Line): Promise<DrainResult> {
  const tally = new Tally(total);
  let executions = 0;
  let settled = 0;
  let firstAt: number | undefined;
  let lastAt = 0;
  let used: { cpuMicros: number; rssMb: number } | undefined;
  const usage = (): { cpuMicros: number; rssMb: number } => {
    const { user, system } = process.cpuUsage(before);
    return { cpuMicros: user + system, rssMb: process.memoryUsage.rss() / 1e6 };
  };
  const worker = await queue.worker({
    handle: (data) => {
      firstAt ??= micros();
      executions++;
      tally.mark(numberOf(data));
    },
    settled: (count) => {
      settled += count;
      lastAt = micros();
      if (settled === total) used = usage();
    },
  });
  const goAt = await line.barrier();
  const before = process.cpuUsage();
  const starting = worker.start();
  if (starting) {
    await starting;
    firstAt ??= micros();
  } else firstAt = goAt;
  await line.untilStopped(() => settled);
  used ??= usage();
  await worker.stop();
  return { executions, tally: tally.toText(), firstAt, lastAt, ...used };
}
