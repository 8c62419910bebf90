import { setImmediate as turn } from 'node:timers/promises';
import { type Payload, type Queue, thousand } from '../contenders/contender.ts';
import type { Line } from './line.ts';

export interface PushArgs {
  /** Concurrent callers, each awaiting its own push before the next; 'bulk' is one caller with 1000 a call. */
  readonly callers: number | 'bulk';
  readonly ms: number;
}

export interface PushResult {
  readonly perSecond: number;
  /** All that was acknowledged, so that the bench can look whether all of it is stored. */
  readonly acknowledged: number;
}

/** Pushes for a while and gives the rate. */
export async function push(queue: Queue, { callers, ms }: PushArgs, line: Line): Promise<PushResult> {
  await line.barrier();
  const warm = await pushFor(queue, callers, ms / 5);
  await turn();
  const start = performance.now();
  const pushed = await pushFor(queue, callers, ms);
  const perSecond = pushed / ((performance.now() - start) / 1000);
  return { perSecond, acknowledged: warm + pushed };
}

export interface PushSomeArgs {
  readonly pushes: number;
}

/** So many by one caller, from the first of the process on, and the rate of that. */
export async function pushSome(queue: Queue, { pushes }: PushSomeArgs, line: Line): Promise<PushResult> {
  await line.barrier();
  const start = performance.now();
  for (let n = 0; n < pushes; n++) await queue.push(thousand[n % thousand.length] as Payload);
  return { perSecond: pushes / ((performance.now() - start) / 1000), acknowledged: pushes };
}

async function pushFor(queue: Queue, callers: number | 'bulk', ms: number): Promise<number> {
  const until = performance.now() + ms;
  let pushed = 0;
  const one = async (): Promise<void> => {
    for (const item of cycle(thousand)) {
      if (performance.now() >= until) return;
      await queue.push(item);
      pushed++;
    }
  };
  const bulk = async (): Promise<void> => {
    while (performance.now() < until) {
      await queue.pushMany(thousand);
      pushed += thousand.length;
    }
  };
  await (callers === 'bulk' ? bulk() : Promise.all(Array.from({ length: callers }, one)));
  return pushed;
}

function* cycle<T>(items: readonly T[]): Generator<T> {
  for (;;) yield* items;
}
