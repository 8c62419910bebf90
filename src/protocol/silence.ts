/**
 * Says when to ping the other side of a connection, and when nobody is there. Whoever was heard is not asked: with both sides doing
 * so, one ping and its answer serve both. Counted, not timed: a process that was stopped has heard nothing either, and finds the
 * answers when it goes on.
 */
export class Silence {
  /** Ticks since something came. */
  #ticks = 0;

  /** Whatever it is that came, the other side is there. */
  heard(): void {
    this.#ticks = 0;
  }

  /** One part of the silence that is borne; whether to ping now. */
  tick(): boolean {
    return ++this.#ticks > 1;
  }

  /** So many pings were not answered that nobody is there, whatever the system believes. */
  get isLong(): boolean {
    return this.#ticks >= TICKS;
  }
}

/** Heard, nothing, a ping, another one, and neither was answered. */
export const TICKS = 4;
const TICK_MS = 10_000;
const MIN_TICK_MS = 100;
const TICKS_PER_LEASE = 12;

/**
 * How often a node looks where leases hold so long: it has noticed after a third of one. Though a renewal was due when the network
 * went deaf, there is time to come back for another before the lease is late.
 */
export function tickMsOf(leaseMs: number): number {
  return Math.min(TICK_MS, Math.max(MIN_TICK_MS, leaseMs / TICKS_PER_LEASE));
}
