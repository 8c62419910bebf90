import type { QueueView } from '../../operate/views.ts';

/** The number of ended tasks in each queue at a time. */
export interface Count {
  readonly at: number;
  readonly ended: ReadonlyMap<string, number>;
}

/** Over a shorter window a rate jumps with each task; over a longer one it lags behind. */
const WINDOW_MS = 5000;

export function countOf(queues: readonly QueueView[], at: number): Count {
  return {
    at,
    ended: new Map(queues.map(({ name, completed, failed, cancelled }) => [name, completed + failed + cancelled])),
  };
}

/** The counts of the window, with the new one. A clock that was set back starts anew. */
export function withCount(counts: readonly Count[], next: Count): readonly Count[] {
  const kept = counts.filter(({ at }) => at < next.at && next.at - at <= WINDOW_MS);
  const last = counts.at(-1);
  // Polls may be further apart than the window.
  return [...(kept.length === 0 && last !== undefined && last.at < next.at ? [last] : kept), next];
}

/** Tasks of a queue that ended per second, from the first to the last of these counts. */
export function rateOf(counts: readonly Count[], queue: string): number | undefined {
  const [first, last] = [counts[0], counts.at(-1)];
  if (first === undefined || last === undefined || last.at <= first.at) return undefined;
  const ended = (last.ended.get(queue) ?? 0) - (first.ended.get(queue) ?? 0);
  return Math.max(0, ended) / ((last.at - first.at) / 1000);
}
