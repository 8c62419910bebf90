import type { TicketState } from '../../core/pools/ticket.ts';

/**
 * The part of the port for pools of workers. Tickets are reserved in the transaction that counts the workers which are there or on their
 * way, one check of a pool after the other: however many check at once, there are never more than the most. A ticket is redeemed by
 * `workerRegister`, in the transaction that makes the worker.
 */
export interface PoolStore {
  /** Makes or replaces a pool. With `revision`, only if that is the present one (0: there is none). */
  poolPut(params: PoolPut): Promise<PoolPutAnswer>;
  poolGet(params: { readonly name: string }): Promise<PoolRecord | undefined>;
  /** By name, those after `after`. */
  poolList(params: { readonly after: string; readonly limit: number }): Promise<readonly PoolRecord[]>;
  /** With its tickets and decisions: a worker that is still to come is refused. Workers stay. False: there is none. */
  poolRemove(params: { readonly name: string }): Promise<boolean>;
  /** What a decision is made from, as it stands now. Undefined: there is no such pool. Reads only. */
  poolLook(params: PoolAsk): Promise<PoolLook | undefined>;
  /**
   * Carries a decision out: ends overdue tickets, counts, reserves as many of the tickets as there is room for below `upTo`, sends idle
   * workers home, and keeps the decision, all in one transaction. Undefined: there is no such pool.
   */
  poolAct(params: PoolAct): Promise<PoolActed | undefined>;
  /** Notes what the launcher said. With an error the ticket is free at once, unless its worker has come all the same. */
  ticketNote(params: TicketNote): Promise<void>;
  /** The newest first, those below `before`. */
  ticketList(params: PoolPage): Promise<readonly TicketRecord[]>;
  /** The newest first, those below `before`. */
  decisionList(params: PoolPage): Promise<readonly DecisionRecord[]>;
}

export interface PoolPut {
  readonly name: string;
  /** A pool as JSON text. */
  readonly body: string;
  readonly by: string;
  readonly revision?: number | undefined;
}

/** `changed`: it has another revision by now, and nothing was written. */
export type PoolPutAnswer = { readonly kind: 'done'; readonly revision: number } | { readonly kind: 'changed' };

export interface PoolRecord {
  readonly name: string;
  readonly body: string;
  readonly revision: number;
  /** Calendar time. */
  readonly createdAt: number;
  readonly changedAt: number;
  readonly changedBy: string;
  /** When workers were last started, and last sent home: lease time. */
  readonly upAt: number | undefined;
  readonly downAt: number | undefined;
}

export interface PoolAsk {
  readonly name: string;
  /** A worker that told no bound of its own counts as gone when it was silent for longer. */
  readonly staleMs: number;
}

export interface PoolLook {
  /** Lease time. */
  readonly now: number;
  readonly pool: PoolRecord;
  /** Tickets whose workers may still come. */
  readonly open: number;
  /** Tickets that are still open, though their time is over. */
  readonly overdue: number;
  /** When the next open ticket ends. */
  readonly nextExpiry: number | undefined;
  /** Starts that have failed since the newest one that has succeeded, and when the last one did. */
  readonly failures: number;
  readonly failedAt: number | undefined;
  readonly members: readonly PoolMember[];
  /** The newest decision that was kept. */
  readonly last: DecisionRecord | undefined;
}

/** A worker of the pool that is there. */
export interface PoolMember {
  readonly worker: number;
  readonly name: string;
  readonly running: number;
  readonly leaving: boolean;
  /** The ticket that brought it. */
  readonly ticket: string | undefined;
  /** As the last check that wrote has seen it; undefined: it was busy, or it has not been seen. */
  readonly idleSince: number | undefined;
  /** How many tasks it had ended then, and has ended now. */
  readonly seenEnded: number | undefined;
  readonly ended: number;
}

export interface PoolAct extends PoolAsk {
  readonly tickets: readonly NewTicket[];
  /** So many workers may be there or on their way. */
  readonly upTo: number;
  /** How long a new ticket is good. */
  readonly ttlMs: number;
  /** Workers to send home, as far as tickets have brought them and they have no task. */
  readonly drain: readonly number[];
  /** The decision, which is kept if it came to something, or is another one than the last. Undefined: it is not. */
  readonly decision: NewDecision | undefined;
}

export interface NewDecision {
  /** What makes it another one: the same text is the same decision. */
  readonly course: string;
  /** JSON text. */
  readonly body: string;
}

export interface NewTicket {
  readonly id: string;
  /** Of its whole text. */
  readonly hash: string;
}

export interface PoolActed {
  /** The tickets that were reserved: the first ones. */
  readonly reserved: number;
  /** Workers that are there or on their way, with the new ones. */
  readonly there: number;
  /** Tickets that were ended because their time is over. */
  readonly expired: number;
  readonly drained: readonly number[];
}

export type TicketNote =
  | { readonly id: string; readonly started: string; readonly error?: undefined }
  | { readonly id: string; readonly error: string; readonly started?: undefined };

export interface PoolPage {
  readonly pool: string;
  readonly before: number;
  readonly limit: number;
}

export interface TicketRecord {
  readonly n: number;
  readonly id: string;
  readonly state: TicketState;
  /** Calendar time. */
  readonly at: number;
  /** Lease time. */
  readonly expiresAt: number;
  /** When its worker came, or it was found that none will; lease time. */
  readonly endedAt: number | undefined;
  readonly started: string | undefined;
  readonly error: string | undefined;
  readonly worker: number | undefined;
}

export interface DecisionRecord extends NewDecision {
  readonly n: number;
  /** Calendar time. */
  readonly at: number;
  readonly launched: number;
  readonly drained: number;
}

/** The newest of each pool; older ones go with the next decision. */
export const MOST_DECISIONS = 200;
/** Of tickets that are over and whose workers have gone. */
export const MOST_OLD_TICKETS = 200;
/** A ticket from further ahead was made before the clock was set back, and is over. */
export const CLOCK_SLACK_MS = 5000;
