/**
 * Says when to ping the other side of a connection, and when that side is gone. A side that was heard is not pinged: with
 * both sides doing so, one ping and its answer serve both. It counts ticks instead of time, because a process that was
 * stopped has heard nothing either, and reads the answers when it goes on.
 */
export class PeerLiveness {
  readonly #idleTicks: number;
  /** Ticks since anything arrived. */
  #ticks = 0;
  /** Ticks without a lease at stake that are not counted yet. */
  #skipped = 0;

  /** `tickMs` is the interval of the ticks. While no lease is at stake, `idleMs` count as one tick. */
  constructor(tickMs = IDLE_TICK_MS, idleMs = IDLE_TICK_MS) {
    this.#idleTicks = Math.ceil(idleMs / tickMs);
  }

  /** Anything that arrives proves that the other side is there. */
  heard(): void {
    this.#ticks = 0;
  }

  /** Counts one tick of silence; answers whether to ping now. `atStake`: a broken connection would cost a lease. */
  tick(atStake = true): boolean {
    if (!atStake && ++this.#skipped < this.#idleTicks) return false;
    this.#skipped = 0;
    return ++this.#ticks > 1;
  }

  /** Nothing arrived for so long that the next message should be one with an answer. */
  get isQuiet(): boolean {
    return this.#ticks > 1;
  }

  /** So many pings were not answered that nobody is there, whatever the operating system believes. */
  get isDead(): boolean {
    return this.#ticks >= TICKS;
  }
}

/** Heard, silent, one ping, another ping, and neither was answered. */
export const TICKS = 4;
/** A side without leases has time. A heartbeat comes as often, so that two healthy sides hardly ever ping. */
export const IDLE_TICK_MS = 10_000;
const MIN_TICK_MS = 100;
const TICKS_PER_LEASE = 12;
const IDLE_TICKS_PER_LEASE = 3;

/**
 * The interval of the ticks for leases of this length: a node notices a dead peer after a third of a lease. If a renewal was
 * due when the network failed, there is time to reconnect and renew before the lease is late.
 */
export function tickMsOf(leaseMs: number): number {
  return Math.min(IDLE_TICK_MS, Math.max(MIN_TICK_MS, leaseMs / TICKS_PER_LEASE));
}

/**
 * The same for a worker that holds nothing. If it is granted a task while nobody is there, that shows as soon as with any
 * other.
 */
export function idleTickMsOf(leaseMs: number): number {
  return Math.min(IDLE_TICK_MS, Math.max(MIN_TICK_MS, leaseMs / IDLE_TICKS_PER_LEASE));
}
