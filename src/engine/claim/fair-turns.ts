import type { Lane } from '../../store/store.ts';
import type { KnownLane } from './blocked-lanes.ts';
import type { PickedLane } from './lane-choice.ts';
import { type FairKey, SlowestFirst, type Turn } from './slowest-first.ts';

type Share = Omit<PickedLane, 'at'>;

/** With more keys than this, the clocks of those that are away are dropped. */
const MAX_KEYS = 100_000;

/** A turn that takes part in a claim. */
interface Player {
  readonly turn: Turn;
  clock: number;
  given: number;
}

/**
 * The ready lanes, in the order in which claims ask them: the highest priority first, then the fairness key whose clock is behind, then the
 * lane that was served longest ago. A claim looks only at lanes that it asks and at those before them that it does not want, so ten
 * thousand others cost it nothing.
 *
 * Keys share in proportion to their weights. Each has a virtual clock that advances by 1 / weight for every granted task. The number of a
 * key's lanes does not matter. A key that is new, or was away, starts no earlier than the slowest clock of the present keys, so none saves
 * up turns.
 */
export class FairTurns {
  /** All lanes, least recently served first. */
  readonly #lanes = new Map<number, { entry: KnownLane; turn: Turn }>();
  readonly #keys = new Map<string, FairKey>();
  /** By priority, the highest first. */
  #levels: readonly SlowestFirst[] = [];
  #serves = 0;

  get(lane: number): KnownLane | undefined {
    return this.#lanes.get(lane)?.entry;
  }

  has(lane: number): boolean {
    return this.#lanes.has(lane);
  }

  /** Least recently served first. */
  ids(): Iterable<number> {
    return this.#lanes.keys();
  }

  /** A lane that is new comes last. */
  set(lane: Lane, entry: KnownLane): void {
    const place = this.#lanes.get(lane.id);
    if (place === undefined) {
      this.#lanes.set(lane.id, { entry, turn: this.#join(lane, entry) });
    } else if (place.turn.priority === entry.priority) {
      place.entry = entry;
      place.turn.lanes.set(lane.id, entry);
    } else {
      this.#leave(lane.id, place.turn);
      place.entry = entry;
      place.turn = this.#join(lane, entry);
    }
  }

  delete(lane: number): void {
    const place = this.#lanes.get(lane);
    if (place === undefined) return;
    this.#lanes.delete(lane);
    this.#leave(lane, place.turn);
  }

  toBack(lane: number): void {
    const place = this.#lanes.get(lane);
    if (place === undefined) return;
    const { entry, turn } = place;
    this.#lanes.delete(lane);
    this.#lanes.set(lane, place);
    turn.lanes.delete(lane);
    turn.lanes.set(lane, entry);
    turn.served = ++this.#serves;
  }

  /** A key that shares with no other key has no clock. */
  served(lane: Lane, count: number): void {
    const key = this.#keys.get(keyOf(lane));
    if (key?.clock !== undefined) key.clock += count / weightOf(lane);
  }

  /** The highest priority of a wanted lane. */
  top(wants: (lane: number) => boolean): number | undefined {
    return this.#levels.find((level) => level.some((turn) => offers(turn, wants)))?.priority;
  }

  /**
   * Which lanes a claim asks for `max` tasks. It asks at most `limit` keys, and those for all it wants: a key that got more than its turn
   * this time waits for the others next time.
   */
  share(wants: (lane: number) => boolean, limit: number, max: number): Share[] {
    for (const level of this.#levels) {
      const turns = level.slowest((turn) => offers(turn, wants), limit);
      const [only] = turns;
      if (only === undefined) continue;
      if (turns.length === 1) return equally(wanted(only, wants, limit), max);
      return deal(turns, max).flatMap(({ turn, given }) =>
        given === 0 ? [] : equally(wanted(turn, wants, given), given),
      );
    }
    return [];
  }

  #join(lane: Lane, entry: KnownLane): Turn {
    const level = this.#level(entry.priority);
    const key = this.#key(keyOf(lane));
    const turn = level.turn(key) ?? {
      key,
      priority: entry.priority,
      step: 1 / weightOf(lane),
      lanes: new Map(),
      served: ++this.#serves,
    };
    turn.lanes.set(lane.id, entry);
    if (turn.lanes.size === 1) {
      key.turns++;
      level.add(turn);
    }
    return turn;
  }

  #leave(lane: number, turn: Turn): void {
    turn.lanes.delete(lane);
    if (turn.lanes.size > 0) return;
    turn.key.turns--;
    const level = this.#level(turn.priority);
    level.remove(turn);
    if (level.size === 0) this.#levels = this.#levels.filter((one) => one !== level);
  }

  #level(priority: number): SlowestFirst {
    const known = this.#levels.find((level) => level.priority === priority);
    if (known !== undefined) return known;
    const level = new SlowestFirst(priority);
    this.#levels = [...this.#levels, level].sort((a, b) => b.priority - a.priority);
    return level;
  }

  #key(name: string): FairKey {
    const known = this.#keys.get(name);
    if (known !== undefined) return known;
    if (this.#keys.size >= MAX_KEYS) {
      for (const [other, { turns }] of this.#keys) if (turns === 0) this.#keys.delete(other);
    }
    const key: FairKey = { name, clock: undefined, turns: 0 };
    this.#keys.set(name, key);
    return key;
  }
}

/** Gives one task at a time to the turn whose clock is behind. */
function deal(turns: readonly Turn[], max: number): readonly Player[] {
  const players = turns.map((turn): Player => ({ turn, clock: turn.key.clock ?? 0, given: 0 }));
  for (let unit = 0; unit < max; unit++) {
    let next = players[0] as Player;
    for (const player of players) if (player.clock < next.clock) next = player;
    next.clock += next.turn.step;
    next.given++;
  }
  return players;
}

const keyOf = ({ rules }: Lane): string => rules?.fairness?.key ?? '';
const weightOf = ({ rules }: Lane): number => rules?.fairness?.weight ?? 1;

function offers({ lanes }: Turn, wants: (lane: number) => boolean): boolean {
  for (const id of lanes.keys()) if (wants(id)) return true;
  return false;
}

/** The first lanes of a turn that the claim wants. */
function wanted(
  { lanes }: Turn,
  wants: (lane: number) => boolean,
  limit: number,
): readonly (readonly [number, KnownLane])[] {
  const found: (readonly [number, KnownLane])[] = [];
  for (const lane of lanes) {
    if (!wants(lane[0])) continue;
    found.push(lane);
    if (found.length >= limit) break;
  }
  return found;
}

function equally(lanes: readonly (readonly [number, KnownLane])[], max: number): Share[] {
  const share = Math.ceil(max / Math.max(1, lanes.length));
  return lanes.map(([lane, { mark }]) => ({ lane, mark, max: share }));
}
