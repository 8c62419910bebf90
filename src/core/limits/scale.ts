/** How many slots a queue could use now. */
export interface Scale {
  /** Ready tasks that could start at once, were there slots for them. */
  readonly runnable: number;
  readonly running: number;
  /** Ready tasks that their limits hold back. */
  readonly blockedByLimit: number;
  /** Slots that it could use: what runs and what could. */
  readonly desired: number;
}

/** Ready tasks as far as they were counted. */
export interface Depth {
  readonly ready: number;
  /** There may be more. */
  readonly capped: boolean;
}

export interface LimitedDepth extends Depth {
  /** How many of them its limits let start now. */
  readonly room: number;
}

export interface ScaleFacts {
  readonly ready: number;
  readonly running: number;
  readonly paused: boolean;
  /** Lanes whose tasks take of limits. */
  readonly limited: readonly LimitedDepth[];
  /** Lanes whose tasks take of none; undefined: they were not counted, as the others say all. */
  readonly free: readonly Depth[] | undefined;
}

/**
 * From the counter of a queue and what was counted of its lanes. The counter is exact; a lane is counted so far and no further. As
 * long as all lanes of one kind were counted to their ends, the counter says the rest, and the answer is exact. Where both kinds
 * are long, what was not counted is taken for runnable: then more is waiting than any fleet takes at once.
 */
export function scaleOf({ ready, running, paused, limited, free }: ScaleFacts): Scale {
  if (paused) return { runnable: 0, running, blockedByLimit: 0, desired: running };
  const held = Math.min(ready, heldBy(ready, limited, free));
  const room = limited.reduce((sum, lane) => sum + (lane.capped ? lane.room : Math.min(lane.ready, lane.room)), 0);
  const blockedByLimit = Math.max(0, held - room);
  const runnable = ready - blockedByLimit;
  return { runnable, running, blockedByLimit, desired: running + runnable };
}

/** How many ready tasks take of limits. */
function heldBy(ready: number, limited: readonly LimitedDepth[], free: readonly Depth[] | undefined): number {
  const counted = sum(limited);
  if (!limited.some(({ capped }) => capped)) return counted;
  if (free === undefined || free.some(({ capped }) => capped)) return counted;
  return Math.max(counted, ready - sum(free));
}

function sum(lanes: readonly Depth[]): number {
  return lanes.reduce((all, { ready }) => all + ready, 0);
}
