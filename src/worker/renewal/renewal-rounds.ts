import type { Lease } from '../../core/task/lease.ts';
import type { Renewals } from '../../protocol/link.ts';
import type { HeldEntry, RenewalTable } from './renewal-table.ts';

/**
 * What the renewal reports about a lease. `late`: it was not renewed in time, and counts as lost. `away`: the same, because the
 * store did not answer. `blocked`: the loop stood still past the run timeout, and the lease was given up.
 */
export interface LeaseNotice extends Lease {
  readonly kind: 'cancel' | 'lost' | 'late' | 'away' | 'blocked';
}

export interface RenewalRoundsOptions {
  readonly table: RenewalTable;
  readonly renewals: Renewals;
  readonly leaseMs: number;
  /** How old a renewal may be; default a third of the lease. */
  readonly renewMs?: number | undefined;
  /** How long the loop may stand still for a run without a timeout. */
  readonly maxBlockMs: number;
  /** Monotonic. */
  readonly now: () => number;
  readonly notify: (notice: LeaseNotice) => void;
}

interface RenewedLease extends Lease {
  renewedAt: number;
  /** Reported as gone; nothing more is done for it. */
  over: boolean;
}

/** A loop that has not beaten for longer than this stands still; it beats four times a second. */
export const SILENT_MS = 1000;

/** The time between two rounds: a lease is renewed at a third of its time, and a lost one is noticed soon. */
export function roundMs(leaseMs: number): number {
  return Math.min(1000, Math.max(5, leaseMs / 12));
}

/**
 * Renews the leases of a worker: all that are due in one call, one call at a time, each lease at a third of its time or sooner.
 * The lease of a handler that blocks its loop is kept too, but only until its run timeout: from then on nothing could stop it, and
 * a dead loop must not hold a task for ever.
 */
export class RenewalRounds {
  readonly #options: RenewalRoundsOptions;
  readonly #standings: (RenewedLease | undefined)[] = [];
  #renewing = false;
  /** The store did not answer the last call. */
  #unanswered = false;

  constructor(options: RenewalRoundsOptions) {
    this.#options = options;
  }

  get #renewMs(): number {
    return this.#options.renewMs ?? this.#options.leaseMs / 3;
  }

  async tick(): Promise<void> {
    const { now } = this.#options;
    const due: RenewedLease[] = [];
    const stuck: { lease: RenewedLease; entry: HeldEntry }[] = [];
    for (let i = 0; i < this.#options.table.capacity; i++) {
      const entry = this.#options.table.read(i);
      const lease = this.#standing(i, entry);
      if (entry === undefined || lease === undefined || lease.over) continue;
      if (this.#isStuck(entry)) stuck.push({ lease, entry });
      else if (this.#isLate(lease)) this.#end(lease, this.#renewing || this.#unanswered ? 'away' : 'late');
      else if (now() - lease.renewedAt >= this.#renewMs) due.push(lease);
    }
    await Promise.all([this.#renew(due), ...stuck.map(({ lease, entry }) => this.#giveUp(lease, entry))]);
  }

  #standing(index: number, entry: HeldEntry | undefined): RenewedLease | undefined {
    const known = this.#standings[index];
    if (entry === undefined) return undefined;
    if (known !== undefined && known.task === entry.task && known.attempt === entry.attempt) return known;
    const { task, attempt, since } = entry;
    const fresh = { task, attempt, renewedAt: since, over: false };
    this.#standings[index] = fresh;
    return fresh;
  }

  #isStuck({ since, deadline }: HeldEntry): boolean {
    const { now, table, maxBlockMs } = this.#options;
    const silentMs = now() - Math.max(table.beatAt, since);
    return silentMs > SILENT_MS && (deadline > 0 ? now() > deadline : silentMs > maxBlockMs);
  }

  /** Reported early enough for the work to stop before the store may grant the task to another worker. */
  #isLate({ renewedAt }: RenewedLease): boolean {
    const { now, leaseMs } = this.#options;
    return now() - renewedAt > leaseMs - Math.min(1000, leaseMs / 6);
  }

  async #renew(due: readonly RenewedLease[]): Promise<void> {
    if (due.length === 0 || this.#renewing) return;
    this.#renewing = true;
    // Taken before the call: the store's own time of the renewal is not earlier.
    const sentAt = this.#options.now();
    let again = false;
    try {
      const answers = await this.#options.renewals.renew(due, this.#options.leaseMs);
      this.#unanswered = false;
      // The call took long because a node was away: leases that became due meanwhile do not wait for the next round.
      again = this.#options.now() - sentAt > roundMs(this.#options.leaseMs);
      for (const [i, lease] of due.entries()) {
        const answer = answers[i];
        if (answer === 'lost') this.#end(lease, 'lost');
        else lease.renewedAt = sentAt;
        if (answer === 'cancel') this.#notify(lease, 'cancel');
      }
    } catch {
      // Tried again in the next round; a lease that no try renews in time is reported as late.
      this.#unanswered = true;
    } finally {
      this.#renewing = false;
    }
    if (again) await this.tick();
  }

  async #giveUp(lease: RenewedLease, { since }: HeldEntry): Promise<void> {
    this.#end(lease, 'blocked');
    // Even if this call fails, the lease is not renewed any more and runs out.
    await this.#options.renewals.blocked(lease, Math.round(this.#options.now() - since)).catch(() => {});
  }

  #end(lease: RenewedLease, kind: LeaseNotice['kind']): void {
    lease.over = true;
    this.#notify(lease, kind);
  }

  #notify({ task, attempt }: RenewedLease, kind: LeaseNotice['kind']): void {
    this.#options.notify({ task, attempt, kind });
  }
}
