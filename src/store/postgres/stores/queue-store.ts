import type { QueueStore } from '../../store.ts';
import { listQueues, queueStats } from '../verbs/admin/read.ts';
import type { StoreParts } from './store-parts.ts';

/** Queues as such, and the clocks. */
export function queueStore({
  calls,
}: StoreParts): Pick<QueueStore, 'queueStats' | 'queuePause' | 'queueList' | 'clock'> {
  return {
    queueStats: ({ queue }) => calls.run((session) => queueStats(session, queue)),
    async queuePause({ queue, paused }) {
      await calls.run((session) => session.rows('queuePause', [queue, paused]));
    },
    queueList: () => calls.run(listQueues),
    /** Calendar time and lease time are both the server's clock. */
    async clock() {
      const [row] = await calls.run((session) => session.all<{ now: number }>('now', []));
      const { now } = row as { now: number };
      return { calendar: now, lease: now };
    },
  };
}
