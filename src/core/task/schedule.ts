import { invariant } from '../errors.ts';

/** What becomes of fire times that passed while nobody could fire them: none is fired, only the latest, or every one. */
export type MissedPolicy = 'skip' | 'one' | 'all';

/** The first fire time strictly after an instant; `undefined` at the end of the schedule. The answer is the same each time. */
export type NextFireTime = (afterMs: number) => number | undefined;

export interface DueFireTimesInput {
  /** The first fire time that has not been handled. */
  readonly nextAt: number;
  readonly now: number;
  readonly policy: MissedPolicy;
  readonly next: NextFireTime;
  /** The most fire times of one call. The rest stay due, and the answered `nextAt` is then not after `now`. */
  readonly limit: number;
  /** How late `skip` still fires; default one minute. */
  readonly graceMs?: number;
}

export interface DueFireTimes {
  /** Ascending; each is at or after the given `nextAt` and before the answered one. */
  readonly fire: readonly number[];
  /** The first fire time that is still to be handled; `undefined` when there is none any more. */
  readonly nextAt: number | undefined;
}

/**
 * Decides which fire times to fire. `nextAt` only moves forward, past every fired one. So storing both in one transaction fires none of
 * them twice, also when the clock steps back. The cost is `limit` calls of `next`; for `one` it is two per halving of the missed time
 * (under 90 for 100 years).
 */
export function dueFireTimes({ nextAt, now, policy, next, limit, graceMs = 60_000 }: DueFireTimesInput): DueFireTimes {
  invariant(
    Number.isSafeInteger(limit) && limit > 0,
    `the limit of fire times is a whole number above 0, not ${limit}`,
  );
  if (nextAt > now) return { fire: [], nextAt };
  const advance = (afterMs: number): number | undefined => {
    const fireTime = next(afterMs);
    invariant(
      fireTime === undefined || (Number.isSafeInteger(fireTime) && fireTime > afterMs),
      `the schedule does not advance: after ${afterMs} it gave ${fireTime}`,
    );
    return fireTime;
  };
  if (policy === 'one') return latestSlot(nextAt, now, advance);
  // Jumps over what is too late instead of walking through it; "- 1" because a fire time exactly `graceMs` late still fires.
  const tooLate = policy === 'skip' && nextAt < now - graceMs;
  return eachSlot(tooLate ? advance(now - graceMs - 1) : nextAt, now, limit, advance);
}

/** The identity of a fire time: at most one task is ever pushed under this unique key. */
export function fireKey(name: string, fireTime: number): string {
  return `cron:${name}:${new Date(fireTime).toISOString()}`;
}

function eachSlot(first: number | undefined, now: number, limit: number, advance: NextFireTime): DueFireTimes {
  const fire: number[] = [];
  let fireTime = first;
  while (fireTime !== undefined && fireTime <= now && fire.length < limit) {
    fire.push(fireTime);
    fireTime = advance(fireTime);
  }
  return { fire, nextAt: fireTime };
}

/** Invariant of the search: `latest` is a fire time at or before `now`, and no fire time lies after `empty` up to `now`. */
function latestSlot(first: number, now: number, advance: NextFireTime): DueFireTimes {
  let latest = first;
  let empty = now;
  for (;;) {
    const following = advance(latest);
    if (following === undefined || following > now) return { fire: [latest], nextAt: following };
    const middle = following + Math.floor((empty - following) / 2);
    const found = advance(middle);
    if (found === undefined || found > now) empty = middle;
    latest = found === undefined || found > now ? following : found;
  }
}
