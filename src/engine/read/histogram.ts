import type { QueueStats } from '../../core/task/event.ts';
import { EMPTY_STATS } from '../../core/task/event.ts';
import type { World } from '../../core/world.ts';
import type { Store, TaskCount } from '../../store/store.ts';

export interface HistogramQuery extends Pick<TaskCount, 'queues' | 'handlers' | 'states' | 'from' | 'until'> {
  readonly buckets: number;
}

export interface Histogram {
  readonly from: number;
  readonly until: number;
  readonly stepMs: number;
  readonly buckets: readonly QueueStats[];
  readonly counted: number;
  /** There are more tasks than were read: only the newest were counted. */
  readonly cut: boolean;
}

/** Tasks per read: a few ms. Between two reads, others get their turn of the loop. */
const SLICE = 5000;
export const MOST_TASKS = 100_000;
const MOST_MS = 1000;

/** How many tasks were created when, by state. It counts the newest ones, as many as a second allows. */
export async function histogram(
  store: Pick<Store, 'taskCount'>,
  { clock, timers }: World,
  { buckets: wanted, ...query }: HistogramQuery,
): Promise<Histogram> {
  const { from, until } = query;
  const stepMs = Math.max(1, Math.ceil((until - from) / wanted));
  const buckets: Record<keyof QueueStats, number>[] = Array.from(
    { length: Math.ceil((until - from) / stepMs) },
    () => ({
      ...EMPTY_STATS,
    }),
  );
  const begun = clock.monotonic();
  let counted = 0;
  let more = true;
  for (let before: number | undefined; more && counted < MOST_TASKS && clock.monotonic() - begun < MOST_MS; ) {
    const { counts, looked, last } = await store.taskCount({ ...query, stepMs, before, limit: SLICE });
    for (const { bucket, state, tasks } of counts) {
      counted += tasks;
      (buckets[bucket] as Record<string, number>)[state] = (buckets[bucket]?.[state] ?? 0) + tasks;
    }
    before = last;
    more = looked === SLICE;
    await new Promise<void>((resolve) => timers.soon(resolve));
  }
  return { from, until, stepMs, buckets, counted, cut: more };
}
