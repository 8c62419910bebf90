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
 * A cache of lanes, which never change; whether their queue is paused is not cached. Keys of limits may be anything, so
 * there may be many lanes: those that were not used while `GENERATION` others came are forgotten. No call names that
 * many, so the lanes that a call has loaded stay until it ends.
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

  /** Loads those of these lanes that are not cached. */
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
