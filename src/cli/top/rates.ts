import type { QueueView } from '../../operate/views.ts';

/** What had ended in each queue when. */
export interface Count {
  readonly at: number;
  readonly ended: ReadonlyMap<string, number>;
}

/** A rate over less would jump with each task; over more it would tell of what is over. */
const WINDOW_MS = 5000;

export function countOf(queues: readonly QueueView[], at: number): Count {
  return {
    at,
    ended: new Map(queues.map(({ name, completed, failed, cancelled }) => [name, completed + failed + cancelled])),
  };
}

/** The counts to keep: those of the window, and this one. A clock that was set back begins anew. */
export function withCount(counts: readonly Count[], next: Count): readonly Count[] {
  const kept = counts.filter(({ at }) => at < next.at && next.at - at <= WINDOW_MS);
  const last = counts.at(-1);
  // Looks may be further apart than the window is long.
  return [...(kept.length === 0 && last !== undefined && last.at < next.at ? [last] : kept), next];
}

/** Tasks of a queue that ended per second, from the first to the last of these counts. */
export function rateOf(counts: readonly Count[], queue: string): number | undefined {
  const [first, last] = [counts[0], counts.at(-1)];
  if (first === undefined || last === undefined || last.at <= first.at) return undefined;
  const ended = (last.ended.get(queue) ?? 0) - (first.ended.get(queue) ?? 0);
  return Math.max(0, ended) / ((last.at - first.at) / 1000);
}
