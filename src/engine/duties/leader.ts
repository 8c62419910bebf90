import type { World } from '../../core/world.ts';
import type { DutyRecord, Store } from '../../store/store.ts';

/** The duty of which a term is leadership. */
export const LEADER = 'leader';

/** What was seen is gone by for so long: the duties of one process ask together. */
const SEEN_MS = 500;

/**
 * Whether some node leads, for those processes that are none: they keep house while nobody leads, and leave it to the leader while
 * there is one. One read for all duties that ask at about the same time.
 */
export class LeaderSnapshot {
  readonly #store: Pick<Store, 'dutyList'>;
  readonly #world: World;
  #seenAt = Number.NEGATIVE_INFINITY;
  #seen: Promise<boolean> = Promise.resolve(false);

  constructor(store: Pick<Store, 'dutyList'>, world: World) {
    this.#store = store;
    this.#world = world;
  }

  isThere(): Promise<boolean> {
    const now = this.#world.clock.monotonic();
    if (now - this.#seenAt < SEEN_MS) return this.#seen;
    this.#seenAt = now;
    this.#seen = this.#look();
    // What could not be seen is looked for again.
    this.#seen.catch(() => {
      this.#seenAt = Number.NEGATIVE_INFINITY;
    });
    return this.#seen;
  }

  async #look(): Promise<boolean> {
    const { now, duties } = await this.#store.dutyList();
    return leaderOf(duties, now) !== undefined;
  }
}

/** The leader's term, if it is not over. */
export function leaderOf(duties: readonly DutyRecord[], now: number): DutyRecord | undefined {
  return duties.find(({ name, until }) => name === LEADER && until >= now);
}
