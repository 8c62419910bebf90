import { fault } from '../../../core/errors.ts';
import { usesIn } from '../../rows/lane-rows.ts';
import type { NamedUse } from '../../store.ts';
import type { Ledger } from '../ledger.ts';
import type { LimitCounters } from '../limit-counters.ts';
import type { Prepared } from './connection.ts';

/** What a verb works with: one write transaction, its two times, and the ledger of its changes. */
export interface Transaction {
  readonly sql: Prepared;
  readonly ledger: Ledger;
  readonly counters: LimitCounters;
  /** Lease time, fixed for the transaction. */
  readonly leaseNow: number;
  /** Calendar time, fixed for the transaction. */
  readonly now: number;
  /** Looks up a lane. Lanes never change, so they are cached for the life of the handle. */
  readonly laneOf: (lane: number) => LaneInfo;
  /** Set when a task ends that others wait for. */
  dependents: DependentWork | undefined;
}

/** What one transaction has done for tasks that wait for others. */
export interface DependentWork {
  /** How many more dependents it may handle. */
  left: number;
  /** Where tasks became ready. */
  readonly lanes: Set<number>;
  /** Something is left for `depCarry`. */
  carried: boolean;
}

export interface LaneInfo {
  readonly queue: number;
  readonly queueName: string;
  readonly handler: string;
  /** The counters that its tasks take from; mostly none. */
  readonly uses: readonly NamedUse[];
  /** The worker that serves it last is stored. */
  readonly affine: boolean;
}

interface RowOfLane extends Pick<LaneInfo, 'queue' | 'queueName' | 'handler'> {
  readonly slots: string;
  readonly affine: number | null;
}

/** Caches lanes, which are few and immutable. */
export function laneReader(sql: Prepared): (lane: number) => LaneInfo {
  const kept = new Map<number, LaneInfo>();
  return (lane) => {
    let info = kept.get(lane);
    if (info === undefined) {
      const row = sql.get('laneGet').get(lane) as RowOfLane | undefined;
      if (row === undefined) throw fault('INTERNAL', { problem: `lane ${lane} does not exist` });
      const { queue, queueName, handler, slots, affine } = row;
      info = { queue, queueName, handler, uses: usesIn(slots), affine: affine === 1 };
      kept.set(lane, info);
    }
    return info;
  };
}
