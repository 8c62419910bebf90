import type { LeaseProof, NewRequest } from '../../protocol/frames.ts';
import type { WorkerLog } from '../logs/worker-log.ts';
import { findLeftovers, type Leftover, type LeftoverSpool, remove } from './leftovers.ts';
import { isFinalRefusal } from './outbox.ts';
import type { Owner } from './owner.ts';

export interface ReplayOptions {
  /** The folder of all spools of this data directory. */
  readonly folder: string;
  readonly successor: Owner;
  readonly send: (request: NewRequest) => Promise<unknown>;
  readonly now: () => number;
  readonly log?: WorkerLog | undefined;
}

/** Attempts whose leftovers are sent at once. */
const AT_ONCE = 32;

/**
 * Sends what dead processes could not send. The node accepts it while their attempt is the newest, as it would have from them;
 * otherwise it is logged and dropped. Rejects when the node is away: then the rest stays for the next try.
 */
export async function replay(options: ReplayOptions): Promise<void> {
  for (const spool of findLeftovers(options.folder, options.successor, options.now())) {
    const counts = { delivered: 0, late: 0 };
    for (let at = 0; at < spool.leftovers.length; at += AT_ONCE) {
      const some = spool.leftovers.slice(at, at + AT_ONCE);
      await Promise.all(some.map((one) => settle(options, spool, one, counts)));
    }
    remove(spool);
    if (counts.delivered > 0) {
      options.log?.warn('an earlier process of this worker left ends that the node has now heard', counts);
    }
  }
}

/** The log goes first: nothing can be added to an attempt that has ended. */
async function settle(options: ReplayOptions, spool: LeftoverSpool, leftover: Leftover, counts: Counts): Promise<void> {
  const lease: LeaseProof = { ...leftover.lease, incarnation: spool.owner.incarnation };
  try {
    for (const logs of leftover.logs()) await options.send({ type: 'task_progress', lease, logs: [...logs] });
  } catch (error) {
    if (!isFinalRefusal(error)) throw error;
  }
  for (const { end, id } of leftover.ends) {
    try {
      await options.send({ ...end, lease });
      counts.delivered++;
    } catch (error) {
      if (!isFinalRefusal(error)) throw error;
      counts.late++;
      const { message } = error as Error;
      options.log?.warn(`the end of ${id}, which an earlier process left, is not taken any more`, { error: message });
    }
  }
}

interface Counts {
  delivered: number;
  late: number;
}
