import type { Lane } from '../../store/store.ts';
import type { PickedLane, ServableLane } from './lane-choice.ts';

type Share = Omit<PickedLane, 'at'>;

/** With more keys than this, all clocks are dropped. */
const MAX_KEYS = 100_000;

/** A key that takes part in a claim. */
interface Turn {
  clock: number;
  readonly step: number;
  readonly lanes: ServableLane[];
  given: number;
}

/**
 * Shares the requested tasks among fairness keys, in proportion to their weights. Each key has a virtual clock that advances by 1 / weight
 * for every granted task, and the key whose clock is behind comes first. The number of a key's lanes does not matter. A key that is new
 * starts at the slowest clock of the present keys, so no key saves up turns.
 *
 * A claim asks at most `limit` keys, and those for all it wants: a key that got more than its turn this time waits for the others next time.
 */
export class FairTurns {
  readonly #clocks = new Map<string, number>();

  /** `open`: lanes of equal priority, least recently served first. */
  share(open: readonly ServableLane[], limit: number, max: number): Share[] {
    const [first] = open;
    const only = first === undefined ? '' : keyOf(first.lane);
    if (open.every(({ lane }) => keyOf(lane) === only)) return equally(open.slice(0, limit), max);
    const turns = this.#slowest(open, limit);
    deal(turns, max);
    return turns.flatMap(({ lanes, given }) => (given === 0 ? [] : equally(lanes.slice(0, given), given)));
  }

  served(lane: Lane, count: number): void {
    const key = keyOf(lane);
    const clock = this.#clocks.get(key);
    // A key that shares with no other key has no clock.
    if (clock !== undefined) this.#clocks.set(key, clock + count / weightOf(lane));
  }

  /**
   * The keys whose clocks are behind, with their lanes. There may be ten thousand keys, and a claim is for a few hundred tasks: keys that are
   * not behind cost two look-ups each.
   */
  #slowest(open: readonly ServableLane[], limit: number): readonly Turn[] {
    const clocks = this.#clocksOf(open);
    const turns = new Map<string, Turn>();
    /** The fastest of those, as soon as there are enough. */
    let last: readonly [key: string, turn: Turn] | undefined;
    for (let i = 0; i < open.length; i++) {
      const clock = clocks[i] as number;
      if (last !== undefined && clock > last[1].clock) continue;
      const choice = open[i] as ServableLane;
      const key = keyOf(choice.lane);
      const turn = turns.get(key);
      if (turn !== undefined) turn.lanes.push(choice);
      else if (last === undefined || clock < last[1].clock) {
        if (last !== undefined) turns.delete(last[0]);
        turns.set(key, { clock, step: 1 / weightOf(choice.lane), lanes: [choice], given: 0 });
        last = turns.size < limit ? undefined : fastestOf(turns);
      }
    }
    return [...turns.values()];
  }

  #clocksOf(open: readonly ServableLane[]): readonly number[] {
    if (this.#clocks.size > MAX_KEYS) this.#clocks.clear();
    const clocks: number[] = [];
    const fresh: number[] = [];
    let slowest = Number.POSITIVE_INFINITY;
    for (let i = 0; i < open.length; i++) {
      const clock = this.#clocks.get(keyOf((open[i] as ServableLane).lane));
      if (clock === undefined) fresh.push(i);
      else if (clock < slowest) slowest = clock;
      clocks.push(clock ?? 0);
    }
    const start = Number.isFinite(slowest) ? slowest : 0;
    for (const i of fresh) {
      this.#clocks.set(keyOf((open[i] as ServableLane).lane), start);
      clocks[i] = start;
    }
    return clocks;
  }
}

function fastestOf(turns: ReadonlyMap<string, Turn>): readonly [string, Turn] {
  let fastest: readonly [string, Turn] | undefined;
  // Of equals the last one, which was served most recently.
  for (const one of turns) if (fastest === undefined || one[1].clock >= fastest[1].clock) fastest = one;
  return fastest as readonly [string, Turn];
}

/** Gives one task at a time to the key whose clock is behind. */
function deal(turns: readonly Turn[], max: number): void {
  for (let unit = 0; unit < max; unit++) {
    let next = turns[0] as Turn;
    for (const turn of turns) if (turn.clock < next.clock) next = turn;
    next.clock += next.step;
    next.given++;
  }
}

const keyOf = ({ rules }: Lane): string => rules?.fairness?.key ?? '';
const weightOf = ({ rules }: Lane): number => rules?.fairness?.weight ?? 1;

function equally(lanes: readonly ServableLane[], max: number): Share[] {
  const share = Math.ceil(max / Math.max(1, lanes.length));
  return lanes.map(({ lane, mark }) => ({ lane: lane.id, mark, max: share }));
}
