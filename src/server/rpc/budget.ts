import { fault } from '../../core/errors.ts';
import type { Clock } from '../../core/world.ts';

/** What one caller may use at once, and what it regains in a second. */
export interface Allowance {
  readonly burst: number;
  readonly perSecond: number;
}

export const DEFAULT_ALLOWANCE: Allowance = { burst: 2000, perSecond: 500 };
const MAX_CALLERS = 10_000;

/**
 * The budget of a caller of JSON-RPC. A call in a batch costs what it costs alone, and each task that it writes or starts
 * costs one more, so that a batch gains nothing.
 */
export class CallBudget {
  readonly #allowance: Allowance;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #left = new Map<string, { units: number; at: number }>();

  constructor(clock: Pick<Clock, 'monotonic'>, allowance: Allowance = DEFAULT_ALLOWANCE) {
    this.#clock = clock;
    this.#allowance = allowance;
  }

  /** Refuses with `OVERLOADED` when too little is left, and takes nothing then. */
  spend(caller: string, units: number): void {
    const { burst, perSecond } = this.#allowance;
    const now = this.#clock.monotonic();
    const known = this.#left.get(caller);
    const left = known === undefined ? burst : Math.min(burst, known.units + ((now - known.at) / 1000) * perSecond);
    // More than the burst is allowed to a caller with a full budget: a tree must not be too large for ever.
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

  /** Drops callers whose budget is full again; they count like new ones. */
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
