import { fault } from '../../core/errors.ts';
import type { Prepared } from './connection.ts';
import type { Ledger } from './ledger.ts';

/** What a verb's body works with: one write transaction, its two nows, and the ledger of what it does. */
export interface Transaction {
  readonly sql: Prepared;
  readonly ledger: Ledger;
  /** Lease time, fixed for the transaction. */
  readonly leaseNow: number;
  /** Calendar time, fixed for the transaction. */
  readonly now: number;
  /** What a lane stands for; lanes never change, so the answer is kept for the life of the handle. */
  readonly laneOf: (lane: number) => LaneInfo;
}

export interface LaneInfo {
  readonly queue: number;
  readonly queueName: string;
  readonly handler: string;
}

/** Remembers lanes, which are few and immutable. */
export function laneReader(sql: Prepared): (lane: number) => LaneInfo {
  const kept = new Map<number, LaneInfo>();
  return (lane) => {
    let info = kept.get(lane);
    if (info === undefined) {
      info = sql.get('laneGet').get(lane) as LaneInfo | undefined;
      if (info === undefined) throw fault('INTERNAL', { problem: `lane ${lane} does not exist` });
      kept.set(lane, info);
    }
    return info;
  };
}
