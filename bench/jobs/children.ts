/** Warm child processes, through the library. */
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { open } from '../../src/index.ts';
import { payload, thousand } from '../contenders/contender.ts';
import { hold, noop, stamp } from './child-tasks.ts';
import { type LatencyArgs, WARM } from './latency.ts';
import { micros } from './line.ts';

export interface ChildDrainArgs {
  readonly slots: number;
  /** In thousands: those of the first are the warm-up. */
  readonly thousands: number;
}

/** No-op tasks, from the first push to the last completion. */
export async function childDrain(
  file: string,
  { slots, thousands }: ChildDrainArgs,
): Promise<{ readonly perSecond: number }> {
  await using app = await open(`sqlite:${file}`);
  let left = 0;
  let done = Promise.withResolvers<void>();
  const worker = app.worker({
    tasks: [noop],
    slots,
    onSettled: ({ id }, outcome) => {
      if (outcome === 'released') return; // claimed ahead, and given back: it comes again
      if (outcome !== 'completed') done.reject(new Error(`task ${id} was ${outcome}`));
      if (--left === 0) done.resolve();
    },
  });
  await worker.start();
  const work = async (count: number): Promise<void> => {
    left = count * thousand.length;
    done = Promise.withResolvers();
    for (let n = 0; n < count; n++) {
      await app.pushMany(
        noop,
        thousand.map(({ value }) => value),
      );
    }
    await done.promise;
  };
  await work(1);
  const start = micros();
  await work(thousands);
  return { perSecond: (thousands * thousand.length) / ((micros() - start) / 1e6) };
}

/** How long (ms) each push took to reach its handler in a warm child. */
export async function childLatency(file: string, { pushes, everyMs }: LatencyArgs): Promise<readonly number[]> {
  await using app = await open(`sqlite:${file}`);
  await app.worker({ tasks: [stamp], slots: 4 }).start();
  const samples: number[] = [];
  for (let n = 0; n < pushes + WARM; n++) {
    await delay(everyMs * (0.5 + Math.random()));
    const sent = micros();
    const handle = await app.push(stamp, payload().value);
    const began = await handle.result();
    if (n >= WARM) samples.push((began - sent) / 1000);
  }
  return samples;
}

export interface ChildReplaceArgs {
  readonly kills: number;
  /** Time for the next spare to load. */
  readonly restMs: number;
}

/** How long (ms) after the kill of the only busy child the task that waits behind it starts in the spare. */
export async function childReplace(file: string, { kills, restMs }: ChildReplaceArgs): Promise<readonly number[]> {
  await using app = await open(`sqlite:${file}`);
  await app.worker({ tasks: [hold, stamp], slots: 1 }).start();
  const samples: number[] = [];
  for (let n = 0; n < kills; n++) {
    const note = `${file}-pid-${n}`;
    await app.push(hold, note);
    const pid = await pidIn(note);
    const next = await app.push(stamp, null);
    await delay(restMs);
    const killed = micros();
    process.kill(pid, 'SIGKILL');
    samples.push(((await next.result()) - killed) / 1000);
  }
  return samples;
}

async function pidIn(note: string): Promise<number> {
  for (;;) {
    const text = await readFile(note, 'utf8').catch(() => '');
    if (text.endsWith('\n')) return Number(text);
    await delay(2);
  }
}
