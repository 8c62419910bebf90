import type { childDrain, childLatency, childReplace } from './children.ts';
import { count } from './count.ts';
import { drain } from './drain.ts';
import { idle } from './idle.ts';
import { echo, receive, send } from './latency.ts';
import { push, pushSome } from './push.ts';
import { seed } from './seed.ts';
import { timer } from './timer.ts';
import { handLoop, workLoop } from './work.ts';

/** What a child process can do with an open queue. */
export const jobs = {
  seed,
  count,
  push,
  drain,
  idle,
  echo,
  receive,
  send,
  timer,
  // The first of a process: these are not in the list of `child.ts`, so nothing warms up before them.
  coldPush: pushSome,
  coldDrain: drain,
  coldReceive: receive,
  coldSend: send,
};
/** What it can do with a file, through the library: loaded only then, so that peers do not carry it. */
export const libraryJobs = {
  childDrain: async (...args: Parameters<typeof childDrain>) => (await import('./children.ts')).childDrain(...args),
  childLatency: async (...args: Parameters<typeof childLatency>) =>
    (await import('./children.ts')).childLatency(...args),
  childReplace: async (...args: Parameters<typeof childReplace>) =>
    (await import('./children.ts')).childReplace(...args),
  workLoop,
  handLoop,
};

export type Jobs = typeof jobs & typeof libraryJobs;
export type JobName = keyof Jobs;
export type JobArgs<K extends JobName> = Parameters<Jobs[K]>[1];
export type JobResult<K extends JobName> = Awaited<ReturnType<Jobs[K]>>;
