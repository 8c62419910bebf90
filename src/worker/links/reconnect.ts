/**
 * How soon a worker notices that its node is out of reach, and how soon it reconnects. While leases are held, all of these times
 * together are shorter than a lease: docs/guides/promises.md has the sum.
 */
import { IDLE_TICK_MS } from '../../protocol/peer-liveness.ts';

/** The longest pause before the n-th try. The pause is a random part of it, so that not all workers come back at once. */
const BACKOFF_MS = [100, 500, 1000, 2000, 5000, 10_000, 15_000];
/** While leases are held, a pause and a try each take at most this part of a lease. */
const TRIES_PER_LEASE = 12;
const MIN_PAUSE_MS = 100;
const MIN_TRY_MS = 500;
const MAX_TRY_MS = 30_000;
/** A try may take this many times as long as the last one that succeeded. */
const SLOW_FACTOR = 3;
/** A connection that is silent for four ticks, a sixth of a lease, is broken. */
const TICKS_PER_LEASE = 24;
const MIN_TICK_MS = 75;
/** An HTTP request that is not answered within this part of a lease is sent again on another connection. */
const ANSWERS_PER_LEASE = 6;
const MIN_ANSWER_MS = 1000;
const MAX_ANSWER_MS = 10_000;
/** Often, so that a lease is young when the network breaks. */
const RENEWALS_PER_LEASE = 6;

export interface Outage {
  /** 0: not known yet. */
  readonly leaseMs: number;
  /** The outage is longer than a lease: no lease is left to save. */
  readonly away: boolean;
}

/** The pause after so many tries. */
export function pauseMs({ leaseMs, away }: Outage, tries: number, random: () => number): number {
  const most = BACKOFF_MS[Math.min(tries, BACKOFF_MS.length - 1)] as number;
  return Math.ceil(random() * (away ? most : partOf(leaseMs, TRIES_PER_LEASE, MIN_PAUSE_MS, most)));
}

/** How long one try may take; `tookMs` is the time of the last one that succeeded. */
export function tryMs({ leaseMs, away }: Outage, tookMs: number): number {
  if (away) return MAX_TRY_MS;
  return Math.max(partOf(leaseMs, TRIES_PER_LEASE, MIN_TRY_MS, MAX_TRY_MS), Math.min(MAX_TRY_MS, SLOW_FACTOR * tookMs));
}

/** How often a connection is checked for silence; `leaseMs` is 0 while it is not known. */
export function tickMs(leaseMs: number): number {
  return partOf(leaseMs, TICKS_PER_LEASE, MIN_TICK_MS, IDLE_TICK_MS);
}

export function answerMs(leaseMs: number): number {
  return partOf(leaseMs, ANSWERS_PER_LEASE, MIN_ANSWER_MS, MAX_ANSWER_MS);
}

export function renewMs(leaseMs: number): number {
  return leaseMs / RENEWALS_PER_LEASE;
}

/** A part of a lease within bounds; the most while no lease is known. */
function partOf(leaseMs: number, parts: number, least: number, most: number): number {
  return leaseMs === 0 ? most : Math.min(most, Math.max(least, leaseMs / parts));
}
