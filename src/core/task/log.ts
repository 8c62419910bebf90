/** Where a line of a task's log comes from; the position is the number that the stores write. */
export const STREAMS = ['stdout', 'stderr', 'log', 'progress', 'system'] as const;
/**
 * `stdout`, `stderr`: what its processes print. `log`: what its handler says by `ctx.log`. `progress`: JSON text of the
 * value last given to `ctx.progress`. `system`: what its worker did to it, such as the steps of a kill.
 */
export type Stream = (typeof STREAMS)[number];

/** One entry of an attempt's log. Numbers count from 1 without gap, so that a repeated append is harmless. */
export interface LogEntry {
  readonly seq: number;
  /** Calendar time of the worker, in milliseconds. */
  readonly at: number;
  readonly stream: Stream;
  readonly text: string;
}
