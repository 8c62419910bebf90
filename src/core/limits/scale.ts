/** How many slots a queue could use now. */
export interface Scale {
  /** Ready tasks that could start at once if there were slots for them. */
  readonly runnable: number;
  readonly running: number;
  /** Ready tasks that their limits block. */
  readonly blockedByLimit: number;
  /** Slots that it could use: running and runnable tasks. */
  readonly desired: number;
}

/** The ready tasks of a lane, as far as they were counted. */
export interface Depth {
  readonly ready: number;
  /** There may be more. */
  readonly capped: boolean;
}

export interface LimitedDepth extends Depth {
  /** How many of them the limits let start now. */
  readonly room: number;
}

export interface ScaleFacts {
  readonly ready: number;
  readonly running: number;
  readonly paused: boolean;
  /** Lanes with limits. */
  readonly limited: readonly LimitedDepth[];
  /** Lanes without limits; undefined: they were not counted, because the others were counted to their ends. */
  readonly free: readonly Depth[] | undefined;
}

/**
 * Computed from the counter of a queue and from what was counted in its lanes. The counter is exact; a lane is counted only up to
 * a maximum. As long as all lanes with limits, or all without, were counted to their ends, the counter gives the rest, and the
 * answer is exact. Where both kinds have longer lanes, tasks that were not counted are taken as runnable: then more is waiting
 * than any cluster takes at once.
 */
export function scaleOf({ ready, running, paused, limited, free }: ScaleFacts): Scale {
  if (paused) return { runnable: 0, running, blockedByLimit: 0, desired: running };
  const held = Math.min(ready, heldBy(ready, limited, free));
  const room = limited.reduce((sum, lane) => sum + (lane.capped ? lane.room : Math.min(lane.ready, lane.room)), 0);
  const blockedByLimit = Math.max(0, held - room);
  const runnable = ready - blockedByLimit;
  return { runnable, running, blockedByLimit, desired: running + runnable };
}

/** How many ready tasks have limits. */
function heldBy(ready: number, limited: readonly LimitedDepth[], free: readonly Depth[] | undefined): number {
  const counted = sum(limited);
  if (!limited.some(({ capped }) => capped)) return counted;
  if (free === undefined || free.some(({ capped }) => capped)) return counted;
  return Math.max(counted, ready - sum(free));
}

function sum(lanes: readonly Depth[]): number {
  return lanes.reduce((all, { ready }) => all + ready, 0);
}
