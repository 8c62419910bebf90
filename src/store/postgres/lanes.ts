import { type RuleColumns, rulesOf } from '../rows/lane-rows.ts';
import type { Lane } from '../store.ts';
import { numbers } from './arrays.ts';
import type { Session } from './connect/database.ts';

/** A lane, and the number of its queue. */
export interface LaneInfo extends Lane {
  readonly queueId: number;
}

export interface LaneRow extends RuleColumns {
  readonly id: number;
  readonly queue_id: number;
  readonly queue: string;
  readonly handler: string;
  readonly paused: boolean;
}

const GENERATION = 100_000;

/**
 * Lanes never change, so what was seen once is known; only whether their queue is paused is not kept here. Keys of limits may be
 * anything, so that lanes are not few for ever: those that were not asked for while so many others came are forgotten. No call
 * names that many, so what it has made sure of stays until it ends.
 */
export class Lanes {
  #young = new Map<number, LaneInfo>();
  #old: ReadonlyMap<number, LaneInfo> = new Map();

  learn(row: LaneRow): Lane {
    const { id, queue_id: queueId, queue, handler, paused } = row;
    const rules = rulesOf(row);
    const lane = { id, queue, handler, paused, ...(rules === undefined ? {} : { rules }) };
    if (this.known(id) === undefined) this.#keep({ ...lane, queueId });
    return lane;
  }

  known(lane: number): LaneInfo | undefined {
    const young = this.#young.get(lane);
    if (young !== undefined) return young;
    const old = this.#old.get(lane);
    if (old !== undefined) this.#keep(old);
    return old;
  }

  /** Whether tasks of this lane take from limits; undefined while it is not known. */
  isLimited(lane: number | undefined): boolean | undefined {
    const known = lane === undefined ? undefined : this.known(lane);
    return known && (known.rules?.uses.length ?? 0) > 0;
  }

  /** Makes sure that all of these are known. */
  async need(session: Session, lanes: Iterable<number>): Promise<void> {
    const missing = [...new Set(lanes)].filter((lane) => this.known(lane) === undefined);
    if (missing.length === 0) return;
    for (const row of await session.all<LaneRow>('laneGet', [numbers(missing)])) this.learn(row);
  }

  #keep(lane: LaneInfo): void {
    if (this.#young.size >= GENERATION) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(lane.id, lane);
  }
}
