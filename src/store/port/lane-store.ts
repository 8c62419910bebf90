import type { CounterUse, LimitUse } from '../../core/limits/limit.ts';
import type { Fairness } from '../../core/placement/lane.ts';
import type { Placement } from '../../core/placement/placement.ts';

/** The part of the port for lanes and specs: what tasks have in common, stored once and known by a number. */
export interface LaneStore {
  /**
   * Finds or makes the lane of each kind of task, in a transaction of its own. A limit that does not exist is refused
   * with `NOT_FOUND`.
   */
  laneIntern(params: { readonly lanes: readonly LaneWish[] }): Promise<readonly Lane[]>;
  laneGet(params: { readonly lanes: readonly number[] }): Promise<readonly (Lane | undefined)[]>;
  /** Lanes with ready tasks now, ascending by id and above `after`. */
  laneScan(params: { readonly after: number; readonly limit: number }): Promise<readonly ReadyLane[]>;
  /**
   * How full lanes are, in the same order. Ready tasks are counted up to `most` in each. `readySince` is the earliest
   * among the first tasks of all priorities; it means nothing for an empty lane.
   */
  laneDepth(params: { readonly lanes: readonly number[]; readonly most: number }): Promise<readonly LaneDepth[]>;
  specIntern(params: { readonly specs: readonly string[] }): Promise<readonly number[]>;
  specGet(params: { readonly spec: number }): Promise<string | undefined>;
}

export interface LaneName {
  readonly queue: string;
  readonly handler: string;
}

/** A lane as it is asked for. Fields that are not given are as for most tasks. */
export interface LaneWish extends LaneName {
  readonly placement?: Placement | undefined;
  readonly limits?: readonly LimitUse[] | undefined;
  readonly fairness?: Fairness | undefined;
}

/** Tasks that are interchangeable for the scheduler. Immutable once made. */
export interface Lane extends LaneName {
  readonly id: number;
  readonly paused: boolean;
  /** What sets it apart from a plain lane of the same queue and handler. */
  readonly rules?: LaneRules | undefined;
}

export interface LaneRules {
  readonly placement: Placement;
  readonly limits: readonly LimitUse[];
  readonly fairness: Fairness | undefined;
  /** The counters that each of its tasks takes from while it runs. */
  readonly uses: readonly NamedUse[];
  /** The worker that served it last, by name, where the placement has an affinity. */
  readonly servedBy: string | undefined;
}

/** A counter, and the limit and key that it belongs to; the key of a total is ''. */
export interface NamedUse extends CounterUse {
  readonly name: string;
  readonly key: string;
}

export interface ReadyLane {
  readonly id: number;
  /** The highest priority in it. */
  readonly priority: number;
}

export interface LaneDepth {
  readonly ready: number;
  /** Calendar time; infinite for an empty lane. */
  readonly readySince: number;
}
