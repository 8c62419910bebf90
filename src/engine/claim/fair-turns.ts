import type { Lane } from '../../store/store.ts';
import type { PickedLane, ServableLane } from './lane-choice.ts';

type Share = Omit<PickedLane, 'at'>;

/** With more keys than this, all clocks are dropped. */
const MAX_KEYS = 10_000;

/**
 * Shares the requested tasks among fairness keys, in proportion to their weights. Each key has a virtual clock that advances by 1 / weight
 * for every granted task, and the key whose clock is behind comes first. The number of a key's lanes does not matter. A key that is new or
 * comes back starts at the slowest clock of the present keys, so no key saves up turns.
 */
export class FairTurns {
  readonly #clocks = new Map<string, number>();

  /** `open`: lanes of equal priority, least recently served first. */
  share(open: readonly ServableLane[], limit: number, max: number): Share[] {
    const keys = new Map<string, ServableLane[]>();
    for (const choice of open) {
      const key = keyOf(choice.lane);
      const lanes = keys.get(key);
      if (lanes === undefined) keys.set(key, [choice]);
      else lanes.push(choice);
    }
    if (keys.size <= 1) return equally(open.slice(0, limit), max);
    const given = this.#deal(keys, limit, max);
    return [...given].flatMap(([key, units]) => equally((keys.get(key) as ServableLane[]).slice(0, units), units));
  }

  served(lane: Lane, count: number): void {
    const key = keyOf(lane);
    const clock = this.#clocks.get(key);
    // A key that shares with no other key has no clock.
    if (clock !== undefined) this.#clocks.set(key, clock + count / weightOf(lane));
  }

  /** Gives one task at a time to the key whose clock is behind. */
  #deal(keys: ReadonlyMap<string, readonly ServableLane[]>, limit: number, max: number): ReadonlyMap<string, number> {
    if (this.#clocks.size > MAX_KEYS) this.#clocks.clear();
    const known = [...keys.keys()].flatMap((key) => this.#clocks.get(key) ?? []);
    const slowest = known.length === 0 ? 0 : Math.min(...known);
    const queue = [...keys].map(([key, [first]]) => {
      const clock = Math.max(this.#clocks.get(key) ?? slowest, slowest);
      this.#clocks.set(key, clock);
      return { key, clock, step: 1 / weightOf((first as ServableLane).lane) };
    });
    const given = new Map<string, number>();
    for (let unit = 0; unit < max; unit++) {
      let next = queue[0] as (typeof queue)[number];
      for (const one of queue) if (one.clock < next.clock) next = one;
      if (!given.has(next.key) && given.size >= limit) break;
      next.clock += next.step;
      given.set(next.key, (given.get(next.key) ?? 0) + 1);
    }
    return given;
  }
}

const keyOf = ({ rules }: Lane): string => rules?.fairness?.key ?? '';
const weightOf = ({ rules }: Lane): number => rules?.fairness?.weight ?? 1;

function equally(lanes: readonly ServableLane[], max: number): Share[] {
  const share = Math.ceil(max / Math.max(1, lanes.length));
  return lanes.map(({ lane, mark }) => ({ lane: lane.id, mark, max: share }));
}
