import { pause } from '../../core/pause.ts';
import type { Engine } from '../../engine/engine.ts';
import { KeyedMutex } from '../../engine/settle/keyed-mutex.ts';
import type { ClaimRequest } from '../../protocol/link.ts';

/** How often to look for leases that ran out, or were ended at another node. */
const LOOK_MS = 1000;
/** Without a reason of its own an abort makes an error with a stack. */
const FREED = 'a lease has ended';

/**
 * Keeps a joined worker from holding more tasks than its name was granted slots, those that it claims ahead included. What it says
 * of its slots is its own word, and a claim may ask for any number, so the leases themselves are counted, one claim at a time.
 */
export class SlotBound {
  readonly #engine: Pick<Engine, 'store' | 'world'>;
  readonly #worker: number;
  readonly #mutex = new KeyedMutex();
  /** Ends the wait of a claim for room; undefined while no claim has looked since it was used. */
  #freed: AbortController | undefined;

  constructor(engine: Pick<Engine, 'store' | 'world'>, worker: number) {
    this.#engine = engine;
    this.#worker = worker;
  }

  /** A lease of this worker has ended. Called for each end: without a claim that may wait it costs nothing. */
  free(): void {
    const freed = this.#freed;
    if (freed === undefined) return;
    this.#freed = undefined;
    freed.abort(FREED);
  }

  /** Claims no more than there is room for. Waits for room as long as the claim may wait; without any nothing is claimed. */
  claim<T>(
    slots: number,
    { max, waitMs, signal }: ClaimRequest,
    take: (request: ClaimRequest) => Promise<readonly T[]>,
  ): Promise<readonly T[]> {
    const { clock, timers } = this.#engine.world;
    const until = clock.monotonic() + waitMs;
    return this.#mutex.take(this.#worker, async () => {
      while (!signal.aborted) {
        // Before the look: a lease that ends after it must end the wait.
        const freed = (this.#freed ??= new AbortController()).signal;
        const held = await this.#engine.store.leaseList({ holders: [this.#worker] });
        const leftMs = Math.max(0, until - clock.monotonic());
        const room = slots - held.length;
        if (room > 0) return take({ max: Math.min(max, room), waitMs: leftMs, signal });
        if (leftMs === 0) break;
        await pause(timers, Math.min(leftMs, LOOK_MS), { signal: AbortSignal.any([signal, freed]), unref: true });
      }
      return [];
    });
  }
}
