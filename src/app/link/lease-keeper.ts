import type { Lease } from '../../core/task/lease.ts';
import type { Engine } from '../../engine/engine.ts';
import type { Log } from '../../engine/log.ts';
import type { RenewalAddress, RenewalAnswer } from '../../protocol/link.ts';
import { Renewal } from '../../worker/renewal/renewal.ts';

export interface LeaseKeeperOptions {
  readonly engine: Engine;
  /** Where the thread finds the store; undefined: leases are renewed from the loop. */
  readonly renewal: RenewalAddress | undefined;
  readonly log: Log;
}

/** The most leases that one process keeps at a time. */
export const MOST_LEASES = 4096;
const BEAT_MS = 10_000;

interface KeptLease extends Lease {
  readonly worker: number;
  readonly row: number;
}

/**
 * Keeps the leases of a caller that claims and settles by itself, for as long as this process lives. They are renewed from a thread, so
 * that a caller that blocks the loop loses nothing. It also sends heartbeats for the workers that hold them.
 */
export class LeaseKeeper {
  readonly #engine: Engine;
  readonly #renewal: Renewal;
  readonly #kept = new Map<string, KeptLease>();
  #cancelBeat: (() => void) | undefined;

  constructor({ engine, renewal, log }: LeaseKeeperOptions) {
    this.#engine = engine;
    const session = {
      leaseMs: engine.leaseMs,
      renewal,
      renew: (leases: readonly Lease[]) => Promise.all(leases.map((lease) => this.#renewOne(lease))),
    };
    this.#renewal = new Renewal({
      session,
      world: engine.world,
      capacity: MOST_LEASES,
      // The caller's work has no timeout, so nothing says when its loop has been blocked for too long.
      maxBlockMs: Number.POSITIVE_INFINITY,
      onNotice: (notice) => {
        // The caller finds a cancel request itself. A lease that could not be renewed in time may still be held: the fence decides.
        if (notice.kind === 'lost') this.drop(notice);
      },
      onTrouble: (error) =>
        log.warn('the renewal thread is gone; leases are renewed from the loop', { error: String(error) }),
    });
    this.#renewal.start();
  }

  get size(): number {
    return this.#kept.size;
  }

  /** Renews this lease from now on. */
  hold({ task, attempt }: Lease, worker: number): void {
    const row = this.#renewal.hold({ task, attempt });
    this.#kept.set(keyOf({ task, attempt }), { task, attempt, worker, row });
    if (this.#cancelBeat === undefined) this.#planBeat();
  }

  /** Renews it no longer; nothing happens when it was not held. */
  drop(lease: Lease): void {
    const kept = this.#kept.get(keyOf(lease));
    if (kept === undefined) return;
    this.#kept.delete(keyOf(lease));
    this.#renewal.drop(kept.row);
  }

  async close(): Promise<void> {
    this.#cancelBeat?.();
    await this.#renewal.close();
  }

  async #renewOne(lease: Lease): Promise<RenewalAnswer> {
    const answer = await this.#engine.renew(lease);
    return answer.held ? (answer.cancelRequested ? 'cancel' : 'held') : 'lost';
  }

  #planBeat(): void {
    this.#cancelBeat = this.#engine.world.timers.after(BEAT_MS, () => this.#beat(), { unref: true });
  }

  #beat(): void {
    this.#cancelBeat = undefined;
    if (this.#kept.size === 0) return;
    for (const worker of new Set([...this.#kept.values()].map((kept) => kept.worker))) {
      // Only for display: the leases of a worker decide what it holds.
      void this.#engine.workers.beat({ worker }).catch(() => {});
    }
    this.#planBeat();
  }
}

function keyOf({ task, attempt }: Lease): string {
  return `${task}/${attempt}`;
}
