/**
 * How soon a worker notices that its node is out of reach, and how soon it is back. While there are leases to save, all of it is
 * short beside a lease: docs/guides/promises.md has the sum.
 */
import { IDLE_TICK_MS } from '../../protocol/peer-liveness.ts';

/** The longest pause before the n-th try to come back; the pause itself is drawn between 0 and it, so that not all come at once. */
const BACKOFF_MS = [100, 500, 1000, 2000, 5000, 10_000, 15_000];
/** Of the pause and of one try each, while leases are held. */
const TRIES_PER_LEASE = 12;
const MIN_PAUSE_MS = 100;
const MIN_TRY_MS = 500;
const MAX_TRY_MS = 30_000;
/** A network that is slow when it is well needs longer than one that is quick. */
const SLOW_FACTOR = 3;
/** A connection that is silent for four of them is broken: that is a sixth of a lease. */
const TICKS_PER_LEASE = 24;
const MIN_TICK_MS = 75;
/** A question over HTTP that is not answered for so long is asked again, on another connection. */
const ANSWERS_PER_LEASE = 6;
const MIN_ANSWER_MS = 1000;
const MAX_ANSWER_MS = 10_000;
/** So that the lease is young when the network breaks. */
const RENEWALS_PER_LEASE = 6;

export interface Outage {
  /** 0: not known yet. */
  readonly leaseMs: number;
  /** For longer than a lease: nothing is left to save. */
  readonly away: boolean;
}

/** Before the next try, after so many. */
export function pauseMs({ leaseMs, away }: Outage, tries: number, random: () => number): number {
  const most = BACKOFF_MS[Math.min(tries, BACKOFF_MS.length - 1)] as number;
  return Math.ceil(random() * (away ? most : partOf(leaseMs, TRIES_PER_LEASE, MIN_PAUSE_MS, most)));
}

/** How long one try may take; `tookMs`: the last one that went well. */
export function tryMs({ leaseMs, away }: Outage, tookMs: number): number {
  if (away) return MAX_TRY_MS;
  return Math.max(partOf(leaseMs, TRIES_PER_LEASE, MIN_TRY_MS, MAX_TRY_MS), Math.min(MAX_TRY_MS, SLOW_FACTOR * tookMs));
}

/** Of the silence of a connection; 0: there is nothing to save, or it is not known how long that holds. */
export function tickMs(leaseMs: number): number {
  return partOf(leaseMs, TICKS_PER_LEASE, MIN_TICK_MS, IDLE_TICK_MS);
}

export function answerMs(leaseMs: number): number {
  return partOf(leaseMs, ANSWERS_PER_LEASE, MIN_ANSWER_MS, MAX_ANSWER_MS);
}

export function renewMs(leaseMs: number): number {
  return leaseMs / RENEWALS_PER_LEASE;
}

/** The most while no lease is known. */
function partOf(leaseMs: number, parts: number, least: number, most: number): number {
  return leaseMs === 0 ? most : Math.min(most, Math.max(least, leaseMs / parts));
}
