/**
 * Counts the pings that the other side of a connection has not answered. Counted, not timed: a process that was stopped has heard
 * nothing either, and finds the answers when it goes on.
 */
export class Silence {
  #unanswered = 0;

  /** Whatever it is that came, the other side is there. */
  heard(): void {
    this.#unanswered = 0;
  }

  /** A ping was sent. */
  asked(): void {
    this.#unanswered++;
  }

  /** So many were not answered that nobody is there, whatever the system believes. */
  get isLong(): boolean {
    return this.#unanswered >= MAX_UNANSWERED;
  }
}

const MAX_UNANSWERED = 2;
const PING_MS = 10_000;
const MIN_PING_MS = 100;
const PINGS_PER_LEASE = 9;

/**
 * How often to ping where leases hold so long. Two pings that were not answered when the third is due are a third of a lease: though
 * a renewal was due when the network went deaf, there is time to come back for another before the lease is late.
 */
export function pingMsOf(leaseMs: number): number {
  return Math.min(PING_MS, Math.max(MIN_PING_MS, leaseMs / PINGS_PER_LEASE));
}
