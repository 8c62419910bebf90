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
  /** The queue of a lane; lanes never change, so the answer is kept for the life of the handle. */
  readonly queueOf: (lane: number) => number;
}
