import type { World } from '../../core/world.ts';
import type { ClaimAnswer, ClaimRequest, Grant, Lane, LaneAsk, Store } from '../../store/store.ts';
import type { Coalescer, Kind } from '../coalescer.ts';
import { deal, groupWants, type Want } from './claim-request.ts';
import { LaneShare } from './lane-share.ts';
import { type Pickup, type Ring, SCAN_MS } from './ready-lanes.ts';
import { Reserve } from './skipped-lanes.ts';
import type { Fleet } from './worker-profiles.ts';

/** One very task, asked for by its number. */
export interface TaskWant extends Pick<Want, 'worker' | 'leaseMs' | 'op' | 'token'> {
  readonly task: number;
  /** By which revision of the worker it was judged. */
  readonly revision?: number | undefined;
  /** How many tasks like it the worker may have. */
  readonly maxHeld?: number | undefined;
}

export interface ClaimsDeps {
  readonly store: Pick<Store, 'taskClaim'>;
  readonly ring: Ring;
  readonly fleet: Fleet;
  readonly world: World;
  readonly coalescer: Coalescer;
}

/** A claim looks at no more lanes than this; the ring brings the others to the front next time. */
const MAX_LANES = 200;
/** Tasks that one call of the store grants at most: more would hold the loop too long, and go into further rounds. */
const MAX_GRANTS = 250;

/** Turns wants into grants: picks lanes from the ring, asks the store once per flush, learns from what came back. */
export class Claims {
  readonly #store: Pick<Store, 'taskClaim'>;
  readonly #ring: Ring;
  readonly #fleet: Fleet;
  readonly #world: World;
  readonly #reserve: Reserve;
  readonly #share = new LaneShare();
  /** Of the fleet, as far as those who wait have heard of them. */
  #changes = 0;
  readonly #kind: Kind<Want, readonly Grant[]>;
  readonly #taskKind: Kind<TaskWant, ClaimAnswer | undefined>;

  constructor(deps: ClaimsDeps) {
    this.#store = deps.store;
    this.#ring = deps.ring;
    this.#fleet = deps.fleet;
    this.#world = deps.world;
    this.#reserve = new Reserve(deps.world, () => this.#ring.signs.wake());
    // One in flight: with two, claims skip over each other's rows (28–42 against 22–27 µs of server CPU on Postgres).
    this.#kind = deps.coalescer.kind({
      name: 'claim',
      maxItems: 250,
      maxInFlight: 1,
      send: (wants) => this.#send(wants),
    });
    this.#taskKind = deps.coalescer.kind({
      name: 'claim of a task',
      maxItems: 250,
      maxInFlight: 1,
      send: (wants) =>
        deps.store.taskClaim({
          claims: wants.map(({ worker, leaseMs, op, task, token, revision, maxHeld }) => ({
            holder: worker,
            token,
            revision,
            ttlMs: leaseMs,
            max: 1,
            lanes: [],
            op,
            task,
            maxHeld,
          })),
        }),
    });
  }

  /** That task, if it can be claimed now. It says nothing about lanes, so the ring neither decides nor learns. */
  async claimTask(want: TaskWant): Promise<readonly Grant[]> {
    return (await this.#taskKind.submit(want))?.grants ?? [];
  }

  /** Answers with what there is, or waits up to `waitMs` for the first tasks to come. */
  async claim(want: Want, waitMs: number, signal?: AbortSignal): Promise<readonly Grant[]> {
    if (waitMs <= 0) return signal?.aborted ? [] : this.#kind.submit(want);
    const { monotonic } = this.#world.clock;
    const deadline = monotonic() + waitMs;
    const { candidate, slots = want.max } = this.#fleet.profile(want.worker) ?? {};
    const waiting = this.#ring.signs.enter({
      priority: candidate?.priority ?? 0,
      freeShare: Math.min(1, want.max / slots),
      wants: (lane) => {
        const serves = (one: Lane): boolean => this.#serves(want, one);
        return lane === undefined ? this.#ring.knows(serves) : this.#ring.offers(lane, serves);
      },
      signal,
    });
    try {
      for (;;) {
        if (signal?.aborted) return [];
        waiting.looking();
        const grants = await this.#kind.submit(want);
        const leftMs = deadline - monotonic();
        if (grants.length > 0 || leftMs <= 0) return grants;
        await waiting.sign(leftMs);
      }
    } finally {
      waiting.leave();
    }
  }

  async #send(wants: readonly Want[]): Promise<readonly (readonly Grant[])[]> {
    if (this.#ring.stale || this.#ring.outdated) await this.#refresh(wants);
    if (this.#fleet.stale) await this.#meetFleet(wants);
    const groups = groupWants(wants);
    const granted: (readonly Grant[])[] = groups.map(() => []);
    let open: readonly Open[] = groups.map(({ want }, at) => ({ want, at, max: want.max }));
    // What the lanes of one round left over goes to others. Each round grants something or finds a lane empty, so it ends.
    for (let round = 0; open.length > 0; round++) {
      try {
        open = await this.#round(open, round, granted);
      } catch (error) {
        // What an earlier round was granted is granted: a fault now must not hide it from its callers.
        if (granted.every((grants) => grants.length === 0)) throw error;
        break;
      }
    }
    const answers: (readonly Grant[])[] = wants.map(() => []);
    for (const [i, group] of groups.entries()) deal(group, wants, granted[i] as readonly Grant[], answers);
    return answers;
  }

  /**
   * Looks which lanes have something. Not awaited by a claim that knows of a lane already: it would start later by two round
   * trips, and a settle of the same turn could not share its commit. What the look finds is there for the next one. But a
   * pause of another process must hold within a second, so a claim does not go by what is known for longer.
   */
  async #refresh(wants: readonly Want[]): Promise<void> {
    const { outdated } = this.#ring;
    const looked = this.#ring.refresh();
    const knows = wants.every((want) => this.#ring.knows((lane) => this.#serves(want, lane)));
    if (outdated || !knows) await looked;
    // A store that cannot be asked says so to the claim itself.
    else looked.catch(() => {});
  }

  /**
   * Looks who the workers are. Awaited where it may decide: there is a lane that asks for something, and by what is known its
   * asker may not serve it, or that is in doubt.
   */
  async #meetFleet(wants: readonly Want[]): Promise<void> {
    const { doubtful } = this.#fleet;
    const looked = this.#fleet.look().then(() => this.#heed());
    const decides = wants.some((want) =>
      this.#ring.knows(
        (lane) =>
          lane.rules !== undefined && wanted(want, lane) && (doubtful || !this.#fleet.serves(want.worker, lane)),
      ),
    );
    if (decides) await looked;
    else looked.catch(() => {});
  }

  /** Who looked need not be whom a change of the fleet concerns: somebody else may serve now what it did not before. */
  #heed(): void {
    const { changes } = this.#fleet;
    if (changes === this.#changes) return;
    this.#changes = changes;
    this.#ring.signs.wake();
  }

  #serves(want: Want, lane: Lane): boolean {
    return wanted(want, lane) && !this.#reserve.keeps(want.worker, lane.id) && this.#fleet.serves(want.worker, lane);
  }

  /** Asks lanes for their shares, and answers with the wants that more lanes may still fill. */
  async #round(open: readonly Open[], round: number, answers: (readonly Grant[])[]): Promise<readonly Open[]> {
    let budget = MAX_GRANTS;
    const now = open.filter((it) => {
      const fits = budget > 0;
      budget -= Math.min(it.max, MAX_GRANTS);
      return fits;
    });
    const asked = now.map((it) => {
      const max = Math.min(it.max, MAX_GRANTS);
      // More lanes when those of an earlier round turned out to be empty.
      const limit = it.want.op === undefined ? Math.min(MAX_LANES, this.#share.lanes(max) * 2 ** round) : MAX_LANES;
      const picks = this.#ring.pick((lane) => this.#serves(it.want, lane), limit, max);
      return { ...it, ask: max, picks, lanes: picks.map((pick) => this.#ask(it.want.worker, pick)) };
    });
    // A want with an operation id goes to the store even without a lane: its first answer may be waiting there.
    const sent = asked.filter(({ picks, want }) => picks.length > 0 || want.op !== undefined);
    const claims: ClaimRequest[] = sent.map(({ want, ask, picks, lanes }) => ({
      holder: want.worker,
      revision: this.#revision(want.worker, picks),
      token: want.token,
      ttlMs: want.leaseMs,
      max: ask,
      lanes,
      op: want.op,
    }));
    const granted = claims.length === 0 ? [] : await this.#store.taskClaim({ claims });
    const unfilled = sent.flatMap(({ want, at, max, ask, picks }, i) => {
      const answer = granted[i];
      if (answer === undefined) {
        // Nobody looked, so there is nothing to learn of the lanes; but the worker may not be who it was.
        this.#fleet.forget();
        return [];
      }
      const { grants } = answer;
      answers[at] = [...(answers[at] as readonly Grant[]), ...grants];
      // Grants of an earlier call say nothing about the lanes of this one.
      if (want.op !== undefined && grants.length > 0) return [];
      this.#learn(want.worker, picks, ask, answer);
      // Lanes that were not asked, or gave all that they were asked for: among them those of lesser urgency. What a limit holds
      // back is left to the next claim: whoever has tasks in hand already must not wait for it.
      const more = grants.length < max && this.#ring.hasOpen((lane) => this.#serves(want, lane));
      return more ? [{ want, at, max: max - grants.length }] : [];
    });
    return [...unfilled, ...open.slice(now.length)];
  }

  #ask(worker: number, { lane: id, max }: Pickup): LaneAsk {
    const lane = this.#ring.lane(id) as Lane;
    const minAgeMs = this.#fleet.waitMs(worker, lane);
    const maxHeld = lane.rules?.placement.maxPerWorker;
    if (minAgeMs === 0 && maxHeld === undefined) return { lane: id, max };
    return { lane: id, max, ...(minAgeMs > 0 ? { minAgeMs } : {}), ...(maxHeld === undefined ? {} : { maxHeld }) };
  }

  /** By which revision of the worker these lanes were chosen; a lane that asks for nothing is anybody's. */
  #revision(worker: number, picks: readonly Pickup[]): number | undefined {
    const asks = picks.some(({ lane }) => this.#ring.lane(lane)?.rules !== undefined);
    return asks ? this.#fleet.profile(worker)?.revision : undefined;
  }

  /** Takes lanes out of the ring that were found empty or held back. */
  #learn(worker: number, picks: readonly Pickup[], max: number, { grants, blocked }: ClaimAnswer): void {
    const last = new Map<number, Grant>();
    const got = new Map<number, number>();
    for (const grant of grants) {
      got.set(grant.lane, (got.get(grant.lane) ?? 0) + 1);
      last.set(grant.lane, grant);
    }
    const held = new Map(blocked.map((block) => [block.lane, block]));
    let left = max;
    let whole = 0;
    for (const pick of picks) {
      // The last lanes are asked for what is left, which may be less than their share, or nothing.
      const wish = Math.min(pick.max, left);
      const count = got.get(pick.lane) ?? 0;
      const block = held.get(pick.lane);
      if (count > 0) this.#ring.served(pick.lane, count, (last.get(pick.lane) as Grant).priority);
      if (block !== undefined && block.slot !== 0) this.#ring.hold(block, pick);
      // Not for this worker now; for another one it may be.
      else if (block !== undefined) this.#reserve.keep(worker, pick.lane, block.freesInMs ?? SCAN_MS);
      else if (count < wish) this.#ring.empty(pick);
      if (wish === pick.max) this.#ring.last(pick);
      if (count === wish) whole++;
      left -= count;
    }
    this.#share.learn(whole, picks.length - whole);
  }
}

/** A want that is not filled yet: its place among the answers, and how many tasks it still lacks. */
interface Open {
  readonly want: Want;
  readonly at: number;
  readonly max: number;
}

function wanted(want: Want, lane: Lane): boolean {
  return (want.queues?.has(lane.queue) ?? true) && (want.handlers?.has(lane.handler) ?? true);
}
