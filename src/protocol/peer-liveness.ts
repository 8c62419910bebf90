/**
 * Says when to ping the other side of a connection, and when nobody is there. Whoever was heard is not asked: with both sides doing
 * so, one ping and its answer serve both. Counted, not timed: a process that was stopped has heard nothing either, and finds the
 * answers when it goes on.
 */
export class PeerLiveness {
  readonly #idleTicks: number;
  /** Ticks since something came. */
  #ticks = 0;
  /** Ticks of idleness that are not counted yet. */
  #skipped = 0;

  /** `tickMs`: how often it ticks. With nothing at stake `idleMs` are as one tick. */
  constructor(tickMs = IDLE_TICK_MS, idleMs = IDLE_TICK_MS) {
    this.#idleTicks = Math.ceil(idleMs / tickMs);
  }

  /** Whatever it is that came, the other side is there. */
  heard(): void {
    this.#ticks = 0;
  }

  /** One part of the silence that is borne; whether to ping now. `atStake`: there is a lease that a broken connection would cost. */
  tick(atStake = true): boolean {
    if (!atStake && ++this.#skipped < this.#idleTicks) return false;
    this.#skipped = 0;
    return ++this.#ticks > 1;
  }

  /** Nothing came for so long that the next word should be one that is answered. */
  get isQuiet(): boolean {
    return this.#ticks > 1;
  }

  /** So many pings were not answered that nobody is there, whatever the system believes. */
  get isDead(): boolean {
    return this.#ticks >= TICKS;
  }
}

/** Heard, nothing, a ping, another one, and neither was answered. */
export const TICKS = 4;
/** Who holds nothing has time: a beat comes as often, so that two who are well hardly ever ping. */
export const IDLE_TICK_MS = 10_000;
const MIN_TICK_MS = 100;
const TICKS_PER_LEASE = 12;
const IDLE_TICKS_PER_LEASE = 3;

/**
 * How often a node looks where leases hold so long: it has noticed after a third of one. Though a renewal was due when the network
 * went deaf, there is time to come back for another before the lease is late.
 */
export function tickMsOf(leaseMs: number): number {
  return Math.min(IDLE_TICK_MS, Math.max(MIN_TICK_MS, leaseMs / TICKS_PER_LEASE));
}

/** The same for a worker that holds nothing. Should it be given something though nobody is there, that shows as soon as with any other. */
export function idleTickMsOf(leaseMs: number): number {
  return Math.min(IDLE_TICK_MS, Math.max(MIN_TICK_MS, leaseMs / IDLE_TICKS_PER_LEASE));
}
