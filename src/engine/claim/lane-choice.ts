import type { Lane } from '../../store/store.ts';

/** A lane that could be served. */
export interface ServableLane {
  readonly lane: Lane;
  readonly mark: number;
  readonly priority: number;
}

/** A lane as it was picked. */
export interface PickedLane {
  readonly lane: number;
  readonly mark: number;
  /** What it is asked for. */
  readonly max: number;
  /** How many times a limit counter had been given something back by then. */
  readonly at: number;
}
