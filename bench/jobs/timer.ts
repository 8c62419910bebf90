import { setImmediate as turn } from 'node:timers/promises';
import { payload, type Queue } from '../contenders/contender.ts';

export interface TimerArgs {
  readonly ms: number;
}

export interface TimerResult {
  /** How much later than asked each tick of the timer came (ms). */
  readonly late: readonly number[];
  readonly perSecond: number;
}

const EVERY_MS = 10;
const CALLERS = 64;
/** Tasks under way at most, so that pushes, claims and completions go on side by side. */
const BACKLOG = 5000;

/** Pushes, claims and settles as fast as it can, and looks how late a timer of the same process is. */
export async function timer(queue: Queue, { ms }: TimerArgs): Promise<TimerResult> {
  let pushed = 0;
  let settled = 0;
  const worker = await queue.worker({
    handle: () => {},
    settled: (count) => {
      settled += count;
    },
  });
  await worker.start();
  const late: number[] = [];
  const start = performance.now();
  let due = start + EVERY_MS;
  const ticks = setInterval(() => {
    const now = performance.now();
    late.push(Math.max(0, now - due));
    due = now + EVERY_MS;
  }, EVERY_MS);
  const caller = async (): Promise<void> => {
    while (performance.now() - start < ms) {
      if (pushed - settled >= BACKLOG) {
        await turn();
        continue;
      }
      pushed++;
      await queue.push(payload());
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  const perSecond = settled / ((performance.now() - start) / 1000);
  clearInterval(ticks);
  await worker.stop();
  return { late, perSecond };
}
