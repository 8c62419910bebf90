import { invariant } from '../errors.ts';

/** What becomes of fire times that passed while nobody could fire them: none is fired, only the latest, or every one up to a bound. */
export const MISSED_POLICIES = ['skip', 'latest', 'all'] as const;
export type MissedPolicy = (typeof MISSED_POLICIES)[number];

/** What became of fire times; stored by position. `run` is no fire time: somebody asked for the task. */
export const FIRE_OUTCOMES = ['fired', 'skipped', 'refused', 'run'] as const;
export type FireOutcome = (typeof FIRE_OUTCOMES)[number];

/** How many lines a store keeps of each schedule. */
export const FIRES_KEPT = 100;
/** The next fire time of a schedule that has ended or is paused: past every clock, and exact in every store. */
export const NEVER = Number.MAX_SAFE_INTEGER;

/** The first fire time strictly after an instant; `undefined` at the end of the schedule. The answer is the same each time. */
export type NextFireTime = (afterMs: number) => number | undefined;

export interface DueFireTimesInput {
  /** The first fire time that has not been handled. */
  readonly nextAt: number;
  readonly now: number;
  readonly policy: MissedPolicy;
  readonly next: NextFireTime;
  /** The most fire times that are fired; of more, the latest are. */
  readonly limit: number;
  /** How late `skip` still fires; default one minute. */
  readonly graceMs?: number;
}

export interface DueFireTimes {
  /** Ascending; each is at or after the given `nextAt` and before the answered one. */
  readonly fire: readonly number[];
  /** The fire times from `first` on and before `before` are not fired. */
  readonly skipped: { readonly first: number; readonly before: number } | undefined;
  /** The first fire time that is still to be handled, after `now`; `undefined` when there is none any more. */
  readonly nextAt: number | undefined;
}

/**
 * Decides which fire times to fire. `nextAt` only moves forward, past every fired one. So storing both in one transaction fires none of
 * them twice, also when the clock steps back. When more than `limit` are due, the cost is up to `limit` calls of `next` per halving of
 * the missed time (45 halvings for 100 years), otherwise one call for each.
 */
export function dueFireTimes({ nextAt, now, policy, next, limit, graceMs = 60_000 }: DueFireTimesInput): DueFireTimes {
  invariant(
    Number.isSafeInteger(limit) && limit > 0,
    `the limit of fire times is a whole number above 0, not ${limit}`,
  );
  if (nextAt > now) return { fire: [], skipped: undefined, nextAt };
  const advance = (afterMs: number): number | undefined => {
    const fireTime = next(afterMs);
    invariant(
      fireTime === undefined || (Number.isSafeInteger(fireTime) && fireTime > afterMs),
      `the schedule does not advance: after ${afterMs} it gave ${fireTime}`,
    );
    return fireTime;
  };
  // Jumps over what is too late instead of walking through it; "- 1" because a fire time exactly `graceMs` late still fires.
  const tooLate = policy === 'skip' && nextAt < now - graceMs;
  const from = tooLate ? now - graceMs - 1 : nextAt - 1;
  const fire = latest(tooLate ? advance(from) : nextAt, now, policy === 'latest' ? 1 : limit, advance);
  const last = fire.at(-1);
  const after = last === undefined ? advance(from) : advance(last);
  const before = fire[0] ?? after ?? now + 1;
  return { fire, skipped: before > nextAt ? { first: nextAt, before } : undefined, nextAt: after };
}

/** The identity of a fire time: at most one task is ever pushed under this unique key. */
export function fireKey(name: string, fireTime: number): string {
  return `cron:${name}:${new Date(fireTime).toISOString()}`;
}

/** The last `limit` fire times from `first` on and up to `now`. */
function latest(first: number | undefined, now: number, limit: number, advance: NextFireTime): readonly number[] {
  let found = walk(first, now, limit, advance);
  if (found.length <= limit) return found;
  // Invariant of the search: more than `limit` fire times lie after `early`, and no more than `limit` after `late`.
  let early = (found[0] as number) - 1;
  let late = now;
  for (;;) {
    const middle = early + Math.floor((late - early) / 2);
    found = walk(advance(middle), now, limit, advance);
    if (found.length === limit) return found;
    if (found.length > limit) early = middle;
    else late = middle;
  }
}

/** One more than `limit` tells that there are more. */
function walk(first: number | undefined, now: number, limit: number, advance: NextFireTime): readonly number[] {
  const found: number[] = [];
  for (let at = first; at !== undefined && at <= now && found.length <= limit; at = advance(at)) found.push(at);
  return found;
}
