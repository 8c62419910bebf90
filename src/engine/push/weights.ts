import { fault } from '../../core/errors.ts';
import type { World } from '../../core/world.ts';
import type { Store } from '../../store/store.ts';
import type { Draft } from './push.ts';

/** How long a lane that its limits could let start counts as checked. */
const CHECKED_MS = 1000;
const MAX_CHECKED = 10_000;

/** A task of weight 1 fits every cap but 0, which holds all tasks back until it is raised. So only heavier ones are checked. */
export function isHeavy({ rules }: Draft): boolean {
  return rules?.limits?.some(({ weight }) => weight > 1) ?? false;
}

/**
 * Refuses a task that takes more of a limit than the whole of it: it would wait for ever. A cap that is lowered afterwards is told by
 * Explain. Plain tasks never come here; heavy ones cost a read for each lane and second.
 */
export class Weights {
  readonly #store: Pick<Store, 'laneGet' | 'counterGet'>;
  readonly #world: World;
  readonly #checkedAt = new Map<number, number>();

  constructor(store: Pick<Store, 'laneGet' | 'counterGet'>, world: World) {
    this.#store = store;
    this.#world = world;
  }

  async require(lane: number): Promise<void> {
    const now = this.#world.clock.monotonic();
    if (now - (this.#checkedAt.get(lane) ?? Number.NEGATIVE_INFINITY) < CHECKED_MS) return;
    const [found] = await this.#store.laneGet({ lanes: [lane] });
    const uses = found?.rules?.uses ?? [];
    const { counters } = await this.#store.counterGet({ counters: uses.map(({ counter }) => counter) });
    for (const [i, { name, key, weight }] of uses.entries()) {
      const cap = counters[i]?.cap ?? 0;
      if (cap === 0 || weight <= cap) continue;
      const limit = key === '' ? name : `${name} for ${key}`;
      throw fault(
        'INVALID_INPUT',
        {
          field: 'limits.weight',
          problem: `${weight} is more than the limit ${limit} allows at once, which is ${cap}: the task could never start`,
        },
        { hint: `Push it with a weight of at most ${cap}, or raise the limit first.` },
      );
    }
    if (this.#checkedAt.size >= MAX_CHECKED) this.#checkedAt.clear();
    this.#checkedAt.set(lane, now);
  }
}
