/** A lane that was picked. */
export interface PickedLane {
  readonly lane: number;
  readonly mark: number;
  /** How many tasks it is asked for. */
  readonly max: number;
  /** How often something had been given back to limit counters by then. */
  readonly at: number;
}
