import { ANYWHERE, type Candidate, eligible, type Placed } from '../../core/placement/placement.ts';
import { type Fleet as Ranking, waitOf } from '../../core/placement/rank.ts';
import type { World } from '../../core/world.ts';
import type { FleetMember, Lane, Store } from '../../store/store.ts';

/** A worker as placement sees it, and the revision by which a store knows that it has not changed since. */
export interface Profile {
  readonly candidate: Candidate;
  readonly revision: number;
  readonly slots: number;
}

const LOOK_MS = 1000;
/** Each look reads all of the fleet: a larger one is looked at less often, so that no more than this many are read a second. */
const READ_PER_LOOK = 200;
/** Well within the silence after which a worker is lost. */
const MOST_LOOK_MS = 10_000;

/**
 * What this process knows of the workers: who may serve which lane, and who should leave a task to a better one for a
 * moment. Looked up once a second while claims are made, a large fleet less often. It may be out of date: what a worker may
 * do is checked again by the claim itself, and who comes first is only a preference.
 */
export class WorkerProfiles {
  readonly #store: Pick<Store, 'workerFleet'>;
  readonly #world: World;
  readonly #staleMs: number;
  #members: readonly FleetMember[] = [];
  #profiles = new Map<number, Profile>();
  /** Lane → verdict, for each worker; made anew with every look. */
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

  /** The next claim that needs to know looks first. */
  forget(): void {
    this.#lookedAt = Number.NEGATIVE_INFINITY;
  }

  /** What was known is known to be wrong, or nothing was known yet. */
  get doubtful(): boolean {
    return this.#lookedAt === Number.NEGATIVE_INFINITY;
  }

  /** Grows whenever a look found somebody else than the one before. */
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

  /** Whether this worker may serve the lane. One that is not known may serve what asks for nothing. */
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
      const { revision, slots } = member;
      this.#profiles.set(member.worker, same ? known : { candidate: candidateOf(member), revision, slots });
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
