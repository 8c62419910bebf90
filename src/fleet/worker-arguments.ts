import type { PoolSpec } from '../core/pools/pool.ts';

/** A worker for one task ends soon if another one was faster. */
const ONCE_IDLE = '2s';

/** The arguments of `leasehold` for a worker of the pool. A worker that stays is sent home by its pool. */
export function workerArguments({ queues, worker }: Pick<PoolSpec, 'queues' | 'worker'>): readonly string[] {
  const { life, slots, tags } = worker;
  return [
    'worker',
    ...(life === 'once' ? ['--once', '--idle-exit', ONCE_IDLE] : ['--slots', String(slots)]),
    ...queues.flatMap((queue) => ['--queue', queue]),
    ...tags.flatMap((tag) => ['--tag', tag]),
  ];
}
