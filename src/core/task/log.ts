/** The source of a log line; the position is the number that the stores write. */
export const STREAMS = ['stdout', 'stderr', 'log', 'progress', 'system'] as const;
/**
 * `stdout`, `stderr`: the output of its processes. `log`: lines of its handler by `ctx.log`. `progress`: JSON text of the value last given
 * to `ctx.progress`. `system`: what its worker did to it, such as the steps of a kill.
 */
export type Stream = (typeof STREAMS)[number];

/** One line of an attempt's log. Numbers count from 1 without a gap, so that a repeated append is harmless. */
export interface LogEntry {
  readonly seq: number;
  /** Calendar time of the worker, in milliseconds. */
  readonly at: number;
  readonly stream: Stream;
  readonly text: string;
}
