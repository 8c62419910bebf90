/** What a child process can do with an open queue. */
import { drain } from './drain.ts';
import { idle } from './idle.ts';
import { echo, receive, send } from './latency.ts';
import { push } from './push.ts';
import { seed } from './seed.ts';

export const jobs = { seed, push, drain, idle, echo, receive, send };

export type Jobs = typeof jobs;
export type JobName = keyof Jobs;
export type JobArgs<K extends JobName> = Parameters<Jobs[K]>[1];
export type JobResult<K extends JobName> = Awaited<ReturnType<Jobs[K]>>;
