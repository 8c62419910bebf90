import { fault } from '../../core/errors.ts';
import type { Clock } from '../../core/world.ts';

/** What one caller may ask for at once, and what comes back in a second. */
export interface Allowance {
  readonly burst: number;
  readonly perSecond: number;
}

export const DEFAULT_ALLOWANCE: Allowance = { burst: 2000, perSecond: 500 };
const MAX_CALLERS = 10_000;

/**
 * What a caller may ask for by JSON-RPC in a time. A call in a batch costs what it costs alone, and each task that it writes down
 * or starts costs one more: a batch is no way to ask for more.
 */
export class CallBudget {
  readonly #allowance: Allowance;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #left = new Map<string, { units: number; at: number }>();

  constructor(clock: Pick<Clock, 'monotonic'>, allowance: Allowance = DEFAULT_ALLOWANCE) {
    this.#clock = clock;
    this.#allowance = allowance;
  }

  /** Refused with `OVERLOADED` where not so much is left; then nothing is taken. */
  spend(caller: string, units: number): void {
    const { burst, perSecond } = this.#allowance;
    const now = this.#clock.monotonic();
    const known = this.#left.get(caller);
    const left = known === undefined ? burst : Math.min(burst, known.units + ((now - known.at) / 1000) * perSecond);
    // More than there ever is at once is allowed to who has it all: a tree must not be too large for its budget.
    if (left < Math.min(units, burst)) {
      throw fault(
        'OVERLOADED',
        {},
        { hint: `A caller has ${perSecond} calls and tasks a second, and ${burst} at once.` },
      );
    }
    if (known === undefined && this.#left.size >= MAX_CALLERS) this.#forget(now);
    this.#left.set(caller, { units: left - units, at: now });
  }

  /** Those whose budget is full again, as that of one who was never seen. */
  #forget(now: number): void {
    const { burst, perSecond } = this.#allowance;
    for (const [caller, { units, at }] of this.#left) {
      if (units + ((now - at) / 1000) * perSecond >= burst) this.#left.delete(caller);
    }
    if (this.#left.size < MAX_CALLERS) return;
    const [oldest] = this.#left.keys();
    if (oldest !== undefined) this.#left.delete(oldest);
  }
}
