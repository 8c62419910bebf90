import type { World } from '../../core/world.ts';
import type { DutyRecord, Store } from '../../store/store.ts';

/** The duty whose holder is the leader. */
export const LEADER = 'leader';

/** An answer is used for this long: the duties of one process ask at about the same time. */
const SEEN_MS = 500;

/**
 * Whether a node leads, for processes that are not nodes: they run the duties while no node leads, and leave them to a leader. Duties that
 * ask at about the same time share one read.
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
    // A read that failed is repeated at the next call.
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

/** The leader's term, if it has not expired. */
export function leaderOf(duties: readonly DutyRecord[], now: number): DutyRecord | undefined {
  return duties.find(({ name, until }) => name === LEADER && until >= now);
}
