import type { RunRequest } from '../trees/runs.ts';

/** What an engine cannot do by itself: it reads no machines, has no pools, and starts no process. */
export interface TriggerHost {
  /** The run that a trigger starts. Refuses by throwing. */
  plan(run: object, input: unknown): Promise<RunRequest>;
  /** Has the scaler of a pool look at it, now. */
  check(pool: string, input: unknown): Promise<unknown>;
  /** There is work in this queue that this process, or one that it starts, is to do. It is told again while work is left. */
  serve(execution: 'loop' | 'process', queue: string): void;
}
