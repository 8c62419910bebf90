import { childDrain, childLatency, childReplace } from './children.ts';
import { drain } from './drain.ts';
import { idle } from './idle.ts';
import { echo, receive, send } from './latency.ts';
import { push } from './push.ts';
import { seed } from './seed.ts';
import { timer } from './timer.ts';

/** What a child process can do with an open queue. */
export const jobs = { seed, push, drain, idle, echo, receive, send, timer };
/** What it can do with a file, through the library. */
export const libraryJobs = { childDrain, childLatency, childReplace };

export type Jobs = typeof jobs & typeof libraryJobs;
export type JobName = keyof Jobs;
export type JobArgs<K extends JobName> = Parameters<Jobs[K]>[1];
export type JobResult<K extends JobName> = Awaited<ReturnType<Jobs[K]>>;
