import { utf8Length } from './payload.ts';

/** The source of a log line; the position is the number that the stores write. */
export const STREAMS = ['stdout', 'stderr', 'log', 'progress', 'system'] as const;
/**
 * `stdout`, `stderr`: the output of its processes. `log`: lines of its handler by `ctx.log`. `progress`: JSON text of the value last given
 * to `ctx.progress`. `system`: what its worker did to it, such as the steps of a kill.
 */
export type Stream = (typeof STREAMS)[number];

/**
 * The bound of one attempt's log: the bytes of its lines in UTF-8, and 32 for each line, so that empty lines are bounded too. The worker
 * keeps to it, and counts what it drops; the engine refuses what goes beyond it.
 */
export const MAX_LOG_BYTES: number = 10 * 1024 * 1024;
const LINE_COST = 32;
/** Beyond the bound: for what the worker itself says about the run, such as how many lines were dropped. */
export const LOG_RESERVE: number = 64 * 1024;

/** What a line takes of the bound. */
export function logCost(text: string): number {
  return utf8Length(text) + LINE_COST;
}

/**
 * One line of an attempt's log. Numbers count from 1, so that a repeated append is harmless. A dropped line takes a number too: a gap in
 * the numbers is so many lines that were dropped.
 */
export interface LogEntry {
  readonly seq: number;
  /** Calendar time of the worker, in milliseconds. */
  readonly at: number;
  readonly stream: Stream;
  readonly text: string;
}

/** The lines that were dropped before this one; `before` is the place of the line before it in the log of the task, if there is one. */
export function droppedBefore(
  line: { readonly attempt: number; readonly seq: number },
  before: { readonly attempt: number; readonly seq: number } | undefined,
): number {
  return line.seq - 1 - (before?.attempt === line.attempt ? before.seq : 0);
}
