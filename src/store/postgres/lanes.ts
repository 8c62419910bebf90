import { type RuleColumns, rulesOf } from '../lane-rows.ts';
import type { Lane } from '../store.ts';
import { numbers } from './arrays.ts';
import type { Session } from './database.ts';

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

/** Lanes never change, so what was seen once is known for good; only whether their queue is paused is not kept here. */
export class Lanes {
  readonly #known = new Map<number, LaneInfo>();

  learn(row: LaneRow): Lane {
    const { id, queue_id: queueId, queue, handler, paused } = row;
    const rules = rulesOf(row);
    const lane = { id, queue, handler, paused, ...(rules === undefined ? {} : { rules }) };
    if (!this.#known.has(id)) this.#known.set(id, { ...lane, queueId });
    return lane;
  }

  known(lane: number): LaneInfo | undefined {
    return this.#known.get(lane);
  }

  /** Whether tasks of this lane take from limits; undefined while it is not known. */
  isLimited(lane: number | undefined): boolean | undefined {
    const known = lane === undefined ? undefined : this.#known.get(lane);
    return known && (known.rules?.uses.length ?? 0) > 0;
  }

  /** Makes sure that all of these are known. */
  async need(session: Session, lanes: Iterable<number>): Promise<void> {
    const missing = [...new Set(lanes)].filter((lane) => !this.#known.has(lane));
    if (missing.length === 0) return;
    for (const row of await session.all<LaneRow>('laneGet', [numbers(missing)])) this.learn(row);
  }
}
