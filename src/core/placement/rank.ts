import { type Candidate, eligible, liking, type Placed } from './placement.ts';

/** How long a worker leaves a task to a better one that is online and has room. */
export const GRACE_MS = 200;
/** The worker that last served the key gets this much more than its preferences give it. */
const AFFINITY = 1_000_000_000;

export interface Member {
  readonly worker: Candidate;
  /** How many more tasks it could take. */
  readonly free: number;
  /** When it last sent a heartbeat, in the time of `now`. */
  readonly seenAt: number;
}

export interface Fleet {
  readonly members: readonly Member[];
  /** A worker that has been silent for longer than this is not waited for. */
  readonly staleMs: number;
  /** The name of the worker that last ran a task with this affinity key. */
  readonly servedLast: (key: string) => string | undefined;
}

export interface Ranked {
  readonly worker: Candidate;
  /** How old a ready task must be before this worker takes it. */
  readonly waitMs: number;
}

/**
 * The workers that may run these tasks, best first: by their own priority, then by what the task prefers. A worker that ranks behind
 * another one which is online and has room waits for `GRACE_MS`. So the better one comes first, and its failure costs no more than that.
 */
export function rank(placed: Placed, fleet: Fleet, now: number): readonly Ranked[] {
  const { affinity } = placed.placement;
  const last = affinity === undefined ? undefined : fleet.servedLast(affinity);
  const scored = fleet.members
    .filter(({ worker }) => eligible(placed, worker))
    .map((member) => ({
      ...member,
      liking: liking(placed.placement, member.worker) + (member.worker.name === last ? AFFINITY : 0),
    }))
    .sort((a, b) => b.worker.priority - a.worker.priority || b.liking - a.liking || a.worker.worker - b.worker.worker);
  const best = scored.find(({ free, seenAt }) => free > 0 && now - seenAt <= fleet.staleMs);
  return scored.map(({ worker, liking: own }) => {
    const behind =
      best !== undefined &&
      (worker.priority < best.worker.priority || (worker.priority === best.worker.priority && own < best.liking));
    return { worker, waitMs: behind ? GRACE_MS : 0 };
  });
}

/** How old a ready task must be before this worker takes it; also 0 for an unknown worker. */
export function waitOf(worker: number, placed: Placed, fleet: Fleet, now: number): number {
  return rank(placed, fleet, now).find((ranked) => ranked.worker.worker === worker)?.waitMs ?? 0;
}

/** A claim that waits for work. */
export interface Waiter {
  readonly priority: number;
  /** The free part of its slots. */
  readonly freeShare: number;
  /** When it began to wait. */
  readonly since: number;
}

/** The order in which waiting claims are served: the better worker, then the less busy one, then the one that has waited longer. */
export function byTurn(a: Waiter, b: Waiter): number {
  return b.priority - a.priority || b.freeShare - a.freeShare || a.since - b.since;
}
