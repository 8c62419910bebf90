import { ANYWHERE, type Candidate, eligible, type Placed } from '../../core/placement/placement.ts';
import { type Fleet as Ranking, waitOf } from '../../core/placement/rank.ts';
import type { World } from '../../core/world.ts';
import type { FleetMember, Lane, Store } from '../../store/store.ts';

/** A worker as placement sees it, and the revision by which a store knows that it has not changed since. */
export interface Profile {
  readonly candidate: Candidate;
  readonly revision: number;
  readonly slots: number;
  /** Its pool has sent it home. */
  readonly leaving: boolean;
}

const LOOK_MS = 1000;
/** Each look reads all workers. With many workers it happens less often, so that at most this many are read per second. */
const READ_PER_LOOK = 200;
/** Well below the silence after which a worker is lost. */
const MOST_LOOK_MS = 10_000;

/**
 * What this process knows of the workers: which of them may serve which lane, and which should leave a task to a better one for a moment.
 * It is read once a second while claims are made, less often with many workers. It may be out of date: the claim itself checks again what a
 * worker may do, and the order of workers is only a preference.
 */
export class WorkerProfiles {
  readonly #store: Pick<Store, 'workerFleet'>;
  readonly #world: World;
  readonly #staleMs: number;
  #members: readonly FleetMember[] = [];
  #profiles = new Map<number, Profile>();
  /** Worker → lane → whether it may serve it; dropped when the worker changes. */
  #verdicts = new Map<number, Map<number, boolean>>();
  #priorities = 0;
  #changes = 0;
  #leaseNow = 0;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #looking: Promise<void> | undefined;

  constructor(store: Pick<Store, 'workerFleet'>, world: World, staleMs: number) {
    this.#store = store;
    this.#world = world;
    this.#staleMs = staleMs;
  }

  get stale(): boolean {
    const pauseMs = LOOK_MS * Math.max(1, this.#members.length / READ_PER_LOOK);
    return this.#world.clock.monotonic() - this.#lookedAt >= Math.min(pauseMs, MOST_LOOK_MS);
  }

  /** The next claim that needs the profiles reads them first. */
  forget(): void {
    this.#lookedAt = Number.NEGATIVE_INFINITY;
  }

  /** What is known is wrong, or nothing was read yet. */
  get doubtful(): boolean {
    return this.#lookedAt === Number.NEGATIVE_INFINITY;
  }

  /** Grows whenever a look finds other workers than the one before. */
  get changes(): number {
    return this.#changes;
  }

  profile(worker: number): Profile | undefined {
    return this.#profiles.get(worker);
  }

  look(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  /** Whether this worker may serve the lane. An unknown worker may serve lanes without placement. */
  serves(worker: number, lane: Lane): boolean {
    if (lane.rules === undefined) return true;
    const profile = this.#profiles.get(worker);
    if (profile === undefined) return Object.keys(lane.rules.placement).length === 0;
    const verdicts = this.#verdicts.get(worker) ?? new Map<number, boolean>();
    this.#verdicts.set(worker, verdicts);
    let verdict = verdicts.get(lane.id);
    if (verdict === undefined) {
      verdict = eligible(placedOf(lane), profile.candidate);
      verdicts.set(lane.id, verdict);
    }
    return verdict;
  }

  /** How old a task of the lane must be before this worker takes it. */
  waitMs(worker: number, lane: Lane): number {
    const placement = lane.rules?.placement ?? ANYWHERE;
    if (this.#priorities < 2 && placement.prefer === undefined && placement.affinity === undefined) return 0;
    return waitOf(worker, placedOf(lane), this.#ranking(lane), this.#leaseNow);
  }

  #ranking(lane: Lane): Ranking {
    return {
      members: this.#members.map((member) => ({
        worker: (this.#profiles.get(member.worker) as Profile).candidate,
        free: member.slots - member.running,
        seenAt: member.seenAt,
      })),
      staleMs: this.#staleMs,
      servedLast: () => lane.rules?.servedBy,
    };
  }

  async #look(): Promise<void> {
    this.#lookedAt = this.#world.clock.monotonic();
    const { now, members } = await this.#store.workerFleet();
    this.#members = members;
    this.#leaseNow = now;
    this.#priorities = new Set(members.map(({ priority }) => priority)).size;
    const before = this.#profiles;
    this.#profiles = new Map();
    let changed = before.size !== members.length;
    for (const member of members) {
      const known = before.get(member.worker);
      const same = known?.revision === member.revision && known.candidate.state === member.state;
      if (!same) {
        this.#verdicts.delete(member.worker);
        changed = true;
      }
      const { revision, slots, leaving = false } = member;
      const fresh = { candidate: candidateOf(member), revision, slots, leaving };
      this.#profiles.set(member.worker, same ? known : fresh);
    }
    if (changed) this.#changes++;
  }
}

export function placedOf({ queue, handler, rules }: Lane): Placed {
  return { queue, handler, placement: rules?.placement ?? ANYWHERE };
}

/** A worker that names no handlers may offer any. */
export function candidateOf(member: FleetMember): Candidate {
  const { worker, name, state, enabled, tags, handlers, queues, version, priority } = member;
  const offered = handlers.length === 0 ? undefined : handlers;
  return { worker, name, state, enabled, tags, handlers: offered, queues, version, priority };
}
