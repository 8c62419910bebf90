import type { Lease } from '../../core/task/lease.ts';
import type { Engine } from '../../engine/engine.ts';
import type { Log } from '../../engine/log.ts';
import type { RenewalAddress, RenewalAnswer } from '../../protocol/link.ts';
import { Renewal } from '../../worker/renewal/renewal.ts';

export interface LeaseKeeperOptions {
  readonly engine: Engine;
  /** Where the thread finds the store; undefined renews from the loop. */
  readonly renewal: RenewalAddress | undefined;
  readonly log: Log;
}

/** Leases that one process keeps at a time. */
export const MOST_LEASES = 4096;
const BEAT_MS = 10_000;

interface Kept extends Lease {
  readonly worker: number;
  readonly place: number;
}

/**
 * Keeps the leases of a caller who claims and settles by itself, for as long as this process lives: from a thread, so that
 * a caller which blocks the loop loses nothing. Beats for the workers in whose names they are held.
 */
export class LeaseKeeper {
  readonly #engine: Engine;
  readonly #renewal: Renewal;
  readonly #kept = new Map<string, Kept>();
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
      // Nobody bounds the caller's work, so nobody could say when its loop has been blocked for too long.
      maxBlockMs: Number.POSITIVE_INFINITY,
      onNotice: (news) => {
        // A cancel is for the caller to find. What could not be renewed in time may still be held: the fence will say.
        if (news.notice === 'lost') this.drop(news);
      },
      onTrouble: (error) =>
        log.warn('the renewal thread is gone; leases are renewed from the loop', { error: String(error) }),
    });
    this.#renewal.start();
  }

  get size(): number {
    return this.#kept.size;
  }

  /** From now on it is renewed. */
  hold({ task, attempt }: Lease, worker: number): void {
    const place = this.#renewal.hold({ task, attempt });
    this.#kept.set(keyOf({ task, attempt }), { task, attempt, worker, place });
    if (this.#cancelBeat === undefined) this.#planBeat();
  }

  /** No longer renewed; nothing happens when it was not held. */
  drop(lease: Lease): void {
    const kept = this.#kept.get(keyOf(lease));
    if (kept === undefined) return;
    this.#kept.delete(keyOf(lease));
    this.#renewal.drop(kept.place);
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
      // Only shown to people: what a worker holds is judged by its leases.
      void this.#engine.beat({ worker }).catch(() => {});
    }
    this.#planBeat();
  }
}

function keyOf({ task, attempt }: Lease): string {
  return `${task}/${attempt}`;
}
