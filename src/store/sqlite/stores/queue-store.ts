import type { QueueStore } from '../../store.ts';
import { listQueues, queueStats } from '../verbs/admin/read.ts';
import { internQueue } from '../verbs/queue/intern.ts';
import type { StoreParts } from './store-parts.ts';

type QueueVerbs = Pick<QueueStore, 'queueStats' | 'queuePause' | 'queueList' | 'clock'>;

/** Queues as such, and the clocks. */
export function queueStore({ calls, writer }: StoreParts): QueueVerbs {
  return {
    queueStats: ({ queue }) => writer.read(({ sql }) => queueStats(sql, queue)),
    queuePause: ({ queue, paused }) =>
      writer.write('rest', (tx) => {
        tx.sql.get('queuePause').run(paused ? 1 : 0, internQueue(tx.sql, queue));
      }),
    queueList: () => calls.again('queueList', '', ({ sql }) => listQueues(sql)),
    // A read, so that a store whose file is gone has no answer.
    clock: () => writer.read(() => ({ calendar: writer.clock.calendar(), lease: writer.clock.lease() })),
  };
}
