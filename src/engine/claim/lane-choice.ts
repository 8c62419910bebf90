import type { Lane } from '../../store/store.ts';

/** A lane that could be served. */
export interface ServableLane {
  readonly lane: Lane;
  readonly mark: number;
  readonly priority: number;
}

/** A lane that was picked. */
export interface PickedLane {
  readonly lane: number;
  readonly mark: number;
  /** How many tasks it is asked for. */
  readonly max: number;
  /** How often something had been given back to limit counters by then. */
  readonly at: number;
}
