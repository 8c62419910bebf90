import { fault } from '../../core/errors.ts';
import { type Bucket, fullBucket, type Pace, takeFrom } from '../../core/trigger/bucket.ts';
import type { Clock } from '../../core/world.ts';

/** For one address at one trigger, before anything is read of what it sends. */
export const HOOK_PACE: Pace = { burst: 100, perSecond: 10 };
/** Buckets that are kept. A forgotten one is full again, but nobody has so many addresses at so many triggers that are there. */
const MOST_BUCKETS = 10_000;

/** Bounds what one address may ask of one trigger, whether it can sign or not. */
export class HookFlood {
  readonly #pace: Pace;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #buckets = new Map<string, Bucket>();

  constructor(clock: Pick<Clock, 'monotonic'>, pace: Pace = HOOK_PACE) {
    this.#clock = clock;
    this.#pace = pace;
  }

  /** Throws `TOO_MANY` with the time to come back. */
  admit(trigger: string, address: string): void {
    const now = this.#clock.monotonic();
    const key = `${trigger} ${address}`;
    let bucket = this.#buckets.get(key);
    if (bucket === undefined) {
      if (this.#buckets.size >= MOST_BUCKETS) this.#buckets.clear();
      this.#buckets.set(key, (bucket = fullBucket(this.#pace, now)));
    }
    const retryAfterMs = takeFrom(bucket, this.#pace, now);
    if (retryAfterMs === 0) return;
    throw fault('TOO_MANY', { problem: 'this address sends too many deliveries to this trigger', retryAfterMs });
  }
}
