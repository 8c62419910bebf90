import { DEFAULT_STALE_MS } from '../../core/placement/worker.ts';
import type { DutyTenure, OverdueLease } from '../../store/store.ts';
import type { Engine } from '../engine.ts';
import type { Duty, PassResult } from './duty.ts';
import { takeBack } from './take-back.ts';

const BATCH = 500;
/** When the wall clock moves against the monotonic one by more than this, the host slept, and so did the workers. */
const PAUSE_MS = 2000;
/** An idle reaper writes this often, so that the store can record how far lease time has come. More often would cost the disk too much. */
const NOTE_MS = 10_000;
/** How often it looks for lost workers within the silence that makes a worker lost. */
const LOOKS = 6;

/** A store that was out of reach for this part of a lease has kept workers from renewing: they renew at a third of it. */
const OUTAGE = 1 / 3;

/** A lease holds until its time has passed, not until it has come. */
const wake = (nextInMs: number | undefined): number | undefined => nextInMs && nextInMs + 1;

/**
 * The reaper takes back what silent workers hold, and marks workers as lost. A lease is judged by its own expiry, not by the state of its
 * worker. Only the reaper reads expiry, and the reap is the takeover: a late result is accepted until then and refused from then
 * on. The reaper wakes at the earliest expiry.
 *
 * Workers may have been unable to renew: because the last reaper vanished, the host slept, or the store was out of reach or has
 * only just started. The reaper then waits one lease before the first reap, so that an outage does not run everything again. A lease that
 * was claimed since the store has started is not waited for: nothing has kept its worker from renewing it.
 */
export class Reaper implements Duty {
  readonly name = 'reaper';
  readonly intervalMs: number;
  readonly #engine: Engine;
  #notBefore = 0;
  /** Since when the store has not answered, as far as the last pass knew. */
  #outSince: number | undefined;
  #noteAt = 0;
  #workersAt = 0;
  #offset: number;

  constructor(engine: Engine) {
    this.#engine = engine;
    this.intervalMs = engine.cleanupMs;
    this.#offset = this.#wallAgainstMonotonic();
  }

  begin(term: DutyTenure): void {
    this.#offset = this.#wallAgainstMonotonic();
    this.#notBefore = term.vacant ? 0 : this.#now() + this.#engine.leaseMs;
    this.#outSince = undefined;
  }

  async tick(term: DutyTenure, since = this.#now()): Promise<PassResult> {
    const offset = this.#wallAgainstMonotonic();
    if (Math.abs(offset - this.#offset) > PAUSE_MS) this.#notBefore = this.#now() + this.#engine.leaseMs;
    this.#offset = offset;
    if (this.#now() < this.#notBefore) return { did: 0, nextInMs: this.#notBefore - this.#now() };

    const {
      leases,
      nextInMs,
      upForMs = Number.POSITIVE_INFINITY,
    } = await this.#engine.store.leaseOverdue({
      limit: BATCH,
    });
    // Counted from when the term was to be renewed, or from when the last pass was held up: other callers got no answer then either.
    const heardAt = this.#now();
    const out = heardAt - Math.min(since, this.#outSince ?? since);
    this.#outSince = undefined;
    // Lease holders could not reach the store either: they get the time of one lease to renew.
    const { leaseMs } = this.#engine;
    if (out > leaseMs * OUTAGE) {
      this.#notBefore = this.#now() + leaseMs;
      return { did: 0, nextInMs: leaseMs };
    }
    if (upForMs < leaseMs) return this.#soonAfterStart(term, leases, upForMs, nextInMs);
    const done = await this.#takeBack(term, leases);
    if (this.#now() - heardAt > leaseMs * OUTAGE) this.#outSince = heardAt;
    return { did: done, more: leases.length === BATCH, nextInMs: wake(nextInMs) };
  }

  /** What was claimed before the start is left to a later pass. */
  async #soonAfterStart(
    term: DutyTenure,
    leases: readonly OverdueLease[],
    upForMs: number,
    nextInMs = Number.POSITIVE_INFINITY,
  ): Promise<PassResult> {
    const since = leases.filter(({ heldForMs = Number.POSITIVE_INFINITY }) => heldForMs <= upForMs);
    const did = since.length === 0 ? 0 : await takeBack(this.#engine, term, since);
    return { did, nextInMs: Math.min(nextInMs + 1, this.#engine.leaseMs - upForMs) };
  }

  async #takeBack(term: DutyTenure, leases: readonly OverdueLease[]): Promise<number> {
    await this.#markLost(term);
    if (leases.length === 0 && this.#now() < this.#noteAt) return 0;
    this.#noteAt = this.#now() + NOTE_MS;
    return takeBack(this.#engine, term, leases);
  }

  async #markLost(term: DutyTenure): Promise<void> {
    const { store, workerStaleMs } = this.#engine;
    if (this.#now() < this.#workersAt) return;
    // A worker may have told a shorter silence than that of this process.
    this.#workersAt = this.#now() + Math.min(workerStaleMs, DEFAULT_STALE_MS) / LOOKS;
    await store.workerReap({ duty: term, staleMs: workerStaleMs });
  }

  #now(): number {
    return this.#engine.world.clock.monotonic();
  }

  #wallAgainstMonotonic(): number {
    return this.#engine.world.clock.wall() - this.#now();
  }
}
