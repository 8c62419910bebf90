import { fault } from '../../core/errors.ts';
import type { World } from '../../core/world.ts';
import type { ClaimAnswer, Grant, Lane, LaneAsk, NewClaim, Store } from '../../store/store.ts';
import type { Batcher, Coalescer } from '../coalescer.ts';
import { type ClaimRequest, distribute, groupRequests } from './claim-request.ts';
import type { PickedLane } from './lane-choice.ts';
import { LaneShare } from './lane-share.ts';
import { type ReadyLanes, SCAN_MS } from './ready-lanes.ts';
import { SkippedLanes } from './skipped-lanes.ts';
import type { WorkerProfiles } from './worker-profiles.ts';

/** A claim of one task by its number. */
export interface TaskClaimRequest extends Pick<ClaimRequest, 'worker' | 'leaseMs' | 'op' | 'token'> {
  readonly task: number;
  /** The revision of the worker by which it was found eligible. */
  readonly revision?: number | undefined;
  /** How many such tasks the worker may hold. */
  readonly maxHeld?: number | undefined;
}

export interface ClaimsDeps {
  readonly store: Pick<Store, 'taskClaim'>;
  readonly readyLanes: ReadyLanes;
  readonly profiles: WorkerProfiles;
  readonly world: World;
  readonly coalescer: Coalescer;
}

/** A claim asks at most this many lanes; the others come first next time. */
const MAX_LANES = 200;
/**
 * No request asks for more than this at once, and none is added to a store call that asks for as many already: so a call grants less than
 * twice as many. More would block the event loop for too long; the rest goes into further rounds.
 */
const MAX_GRANTS = 250;

/** Turns claim requests into grants: picks ready lanes, calls the store once per batch, and learns from its answers. */
export class Claims {
  readonly #store: Pick<Store, 'taskClaim'>;
  readonly #readyLanes: ReadyLanes;
  readonly #profiles: WorkerProfiles;
  readonly #world: World;
  readonly #skipped: SkippedLanes;
  readonly #share = new LaneShare();
  /** The changes of the worker profiles for which the waiting claims were woken. */
  #changes = 0;
  readonly #batcher: Batcher<ClaimRequest, readonly Grant[]>;
  readonly #taskBatcher: Batcher<TaskClaimRequest, ClaimAnswer | undefined>;

  constructor(deps: ClaimsDeps) {
    this.#store = deps.store;
    this.#readyLanes = deps.readyLanes;
    this.#profiles = deps.profiles;
    this.#world = deps.world;
    this.#skipped = new SkippedLanes(deps.world, () => this.#readyLanes.waiters.wake());
    // One in flight: with two, claims skip over each other's rows (28–42 against 22–27 µs of server CPU on Postgres).
    this.#batcher = deps.coalescer.batcher({
      name: 'claim',
      maxItems: 250,
      maxInFlight: 1,
      send: (requests) => this.#send(requests),
    });
    this.#taskBatcher = deps.coalescer.batcher({
      name: 'claim of a task',
      maxItems: 250,
      maxInFlight: 1,
      send: (requests) =>
        deps.store.taskClaim({
          claims: requests.map(({ worker, leaseMs, op, task, token, revision, maxHeld }) => ({
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

  /** Claims this task if it is ready. It says nothing about lanes, so the ready lanes neither decide nor learn. */
  async claimTask(request: TaskClaimRequest): Promise<readonly Grant[]> {
    return (await this.#taskBatcher.submit(request))?.grants ?? [];
  }

  /** Answers with what there is, or waits up to `waitMs` for the first tasks. */
  async claim(request: ClaimRequest, waitMs: number, signal?: AbortSignal): Promise<readonly Grant[]> {
    this.#refuseLeaving(request.worker);
    if (waitMs <= 0) return signal?.aborted ? [] : this.#claimNow(request);
    const { monotonic } = this.#world.clock;
    const deadline = monotonic() + waitMs;
    const { candidate, slots = request.max } = this.#profiles.profile(request.worker) ?? {};
    const waiting = this.#readyLanes.waiters.enter({
      priority: candidate?.priority ?? 0,
      freeShare: Math.min(1, request.max / slots),
      wants: (lane) => {
        const serves = (one: Lane): boolean => this.#serves(request, one);
        return lane === undefined ? this.#readyLanes.knows(serves) : this.#readyLanes.offers(lane, serves);
      },
      signal,
    });
    try {
      for (;;) {
        if (signal?.aborted) return [];
        waiting.looking();
        const grants = await this.#batcher.submit(request);
        if (grants.length === 0) this.#refuseLeaving(request.worker);
        const leftMs = deadline - monotonic();
        if (grants.length > 0 || leftMs <= 0) return grants;
        await waiting.nextHint(leftMs);
      }
    } finally {
      waiting.leave();
    }
  }

  /**
   * Without a wait. Where it has found nothing by what is known, and a scan that it had no need to wait for is still under way, it looks once
   * more at what the scan finds. A caller that waits is woken for that; a caller that polls would come back a poll later.
   */
  async #claimNow(request: ClaimRequest): Promise<readonly Grant[]> {
    const grants = await this.#batcher.submit(request);
    const { scan } = this.#readyLanes;
    if (grants.length > 0 || scan === undefined) return grants;
    // A store that does not answer fails the next claim.
    await scan.catch(() => {});
    return this.#readyLanes.knows((lane) => this.#serves(request, lane)) ? this.#batcher.submit(request) : grants;
  }

  /** A worker that was sent home learns it from its claim: it finishes what it has, and ends. */
  #refuseLeaving(worker: number): void {
    const { leaving = false, candidate } = this.#profiles.profile(worker) ?? {};
    if (leaving) throw fault('WORKER_LEAVING', { worker: candidate?.name });
  }

  async #send(requests: readonly ClaimRequest[]): Promise<readonly (readonly Grant[])[]> {
    if (this.#readyLanes.stale || this.#readyLanes.outdated) await this.#refresh(requests);
    if (this.#profiles.stale) await this.#meetWorkers(requests);
    const groups = groupRequests(requests);
    const granted: (readonly Grant[])[] = groups.map(() => []);
    let pending: readonly PendingRequest[] = groups.map(({ request }, at) => ({
      request,
      at,
      max: request.max,
      blocked: NO_LANES,
    }));
    // What one round did not fill goes to other lanes in the next. Each round grants something, or finds a lane empty or blocked that it
    // asks no more, so the loop ends.
    for (let round = 0; pending.length > 0; round++) {
      try {
        pending = await this.#round(pending, round, granted);
      } catch (error) {
        // Grants of an earlier round are committed: a fault now must not hide them from their callers.
        if (granted.every((grants) => grants.length === 0)) throw error;
        break;
      }
    }
    const answers: (readonly Grant[])[] = requests.map(() => []);
    for (const [i, group] of groups.entries()) distribute(group, requests, granted[i] as readonly Grant[], answers);
    return answers;
  }

  /**
   * Reads which lanes have ready tasks. A claim that knows a lane already does not wait for it: it would start two round trips later, and a
   * settle of the same turn could not share its commit. The next claim uses what was read. But a pause of another process must hold within
   * a second, so a claim does wait when the known pauses are older than that.
   */
  async #refresh(requests: readonly ClaimRequest[]): Promise<void> {
    const { outdated } = this.#readyLanes;
    const looked = this.#readyLanes.refresh();
    const knows = requests.every((request) => this.#readyLanes.knows((lane) => this.#serves(request, lane)));
    if (outdated || !knows) await looked;
    // A store that does not answer fails the claim itself.
    else looked.catch(() => {});
  }

  /**
   * Reads the worker profiles. A claim waits for them only where they may decide: a lane has rules, and the worker may not serve it by what
   * is known, or what is known is in doubt.
   */
  async #meetWorkers(requests: readonly ClaimRequest[]): Promise<void> {
    const { doubtful } = this.#profiles;
    const looked = this.#profiles.look().then(() => this.#wakeIfChanged());
    const decides = requests.some((request) =>
      this.#readyLanes.knows(
        (lane) =>
          lane.rules !== undefined &&
          matches(request, lane) &&
          (doubtful || !this.#profiles.serves(request.worker, lane)),
      ),
    );
    if (decides) await looked;
    else looked.catch(() => {});
  }

  /** A change of the profiles may concern another worker than the one whose claim read them: it may now serve what it did not before. */
  #wakeIfChanged(): void {
    const { changes } = this.#profiles;
    if (changes === this.#changes) return;
    this.#changes = changes;
    this.#readyLanes.waiters.wake();
  }

  #serves(request: ClaimRequest, lane: Lane): boolean {
    return (
      matches(request, lane) &&
      !this.#skipped.skips(request.worker, lane.id) &&
      this.#profiles.serves(request.worker, lane)
    );
  }

  /** Asks lanes for their shares. Answers with the requests that further lanes may still fill. */
  async #round(
    pending: readonly PendingRequest[],
    round: number,
    answers: (readonly Grant[])[],
  ): Promise<readonly PendingRequest[]> {
    let budget = MAX_GRANTS;
    const batch = pending.filter((entry) => {
      const fits = budget > 0;
      budget -= Math.min(entry.max, MAX_GRANTS);
      return fits;
    });
    const picked = batch.map((entry) => {
      const max = Math.min(entry.max, MAX_GRANTS);
      // More lanes when those of an earlier round were empty.
      const limit =
        entry.request.op === undefined ? Math.min(MAX_LANES, this.#share.lanes(max) * 2 ** round) : MAX_LANES;
      const picks = this.#readyLanes.pick((lane) => this.#mayHave(entry, lane), limit, max);
      return { ...entry, ask: max, picks, lanes: picks.map((pick) => this.#ask(entry.request.worker, pick)) };
    });
    // A request with an operation id goes to the store even without a lane: the answer to its first call may be there.
    const sent = picked.filter(({ picks, request }) => picks.length > 0 || request.op !== undefined);
    const claims: NewClaim[] = sent.map(({ request, ask, picks, lanes }) => ({
      holder: request.worker,
      revision: this.#revision(request.worker, picks),
      token: request.token,
      ttlMs: request.leaseMs,
      max: ask,
      lanes,
      op: request.op,
    }));
    const granted = claims.length === 0 ? [] : await this.#store.taskClaim({ claims });
    const unfilled = sent.flatMap((entry, i) => {
      const { request, at, max, ask, picks } = entry;
      const answer = granted[i];
      if (answer === undefined) {
        // The store looked at no lane, so there is nothing to learn about them. But the worker may have changed.
        this.#profiles.forget();
        return [];
      }
      const { grants } = answer;
      answers[at] = [...(answers[at] as readonly Grant[]), ...grants];
      // Grants of an earlier call say nothing about the lanes of this one.
      if (request.op !== undefined && grants.length > 0) return [];
      this.#learn(request.worker, picks, ask, answer);
      const left: PendingRequest = {
        request,
        at,
        max: max - grants.length,
        blocked: answer.blocked.length === 0 ? entry.blocked : blockedToo(entry.blocked, answer),
      };
      return left.max > 0 && this.#mayHaveMore(left, (answers[at] as readonly Grant[]).length > 0) ? [left] : [];
    });
    return [...unfilled, ...pending.slice(batch.length)];
  }

  #mayHave({ request, blocked }: PendingRequest, lane: Lane): boolean {
    return !blocked.has(lane.id) && this.#serves(request, lane);
  }

  /**
   * There may be more in lanes that were not asked, such as less urgent ones, and in lanes that gave all they were asked for. Lanes that a
   * limit has blocked so far, and to which a lane that was found empty or needs too much has left its room, are left to the next claim of a
   * caller that has tasks already: it must not wait for them. One that has none would have asked in vain, and comes back a poll later.
   */
  #mayHaveMore(pending: PendingRequest, hasSome: boolean): boolean {
    const wants = (lane: Lane): boolean => this.#mayHave(pending, lane);
    return hasSome ? this.#readyLanes.hasOpen(wants) : this.#readyLanes.knows(wants);
  }

  #ask(worker: number, { lane: id, max }: PickedLane): LaneAsk {
    const lane = this.#readyLanes.lane(id) as Lane;
    const minAgeMs = this.#profiles.waitMs(worker, lane);
    const maxHeld = lane.rules?.placement.maxPerWorker;
    if (minAgeMs === 0 && maxHeld === undefined) return { lane: id, max };
    return { lane: id, max, ...(minAgeMs > 0 ? { minAgeMs } : {}), ...(maxHeld === undefined ? {} : { maxHeld }) };
  }

  /** The revision of the worker by which these lanes were picked. A lane without rules is for any worker. */
  #revision(worker: number, picks: readonly PickedLane[]): number | undefined {
    const asks = picks.some(({ lane }) => this.#readyLanes.lane(lane)?.rules !== undefined);
    return asks ? this.#profiles.profile(worker)?.revision : undefined;
  }

  /** Removes lanes that were empty from the ready lanes, and sets aside those that are blocked. */
  #learn(worker: number, picks: readonly PickedLane[], max: number, { grants, blocked }: ClaimAnswer): void {
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
      const share = Math.min(pick.max, left);
      const count = got.get(pick.lane) ?? 0;
      const block = held.get(pick.lane);
      if (count > 0) this.#readyLanes.served(pick.lane, count, (last.get(pick.lane) as Grant).priority);
      if (block !== undefined && block.counter !== 0) this.#readyLanes.hold(block, pick);
      // Not for this worker now, but perhaps for another one.
      else if (block !== undefined) this.#skipped.skip(worker, pick.lane, block.freesInMs ?? SCAN_MS);
      else if (count < share) this.#readyLanes.empty(pick);
      if (share === pick.max) this.#readyLanes.servedWhole(pick);
      if (count === share) whole++;
      left -= count;
    }
    this.#share.learn(whole, picks.length - whole);
  }
}

/** A request that is not filled yet: its position among the answers, and how many tasks it still lacks. */
interface PendingRequest {
  readonly request: ClaimRequest;
  readonly at: number;
  readonly max: number;
  /** Lanes that a limit has blocked in an earlier round of this claim. */
  readonly blocked: ReadonlySet<number>;
}

const NO_LANES: ReadonlySet<number> = new Set();

function blockedToo(before: ReadonlySet<number>, { blocked }: ClaimAnswer): ReadonlySet<number> {
  return new Set([...before, ...blocked.map(({ lane }) => lane)]);
}

function matches(request: ClaimRequest, lane: Lane): boolean {
  return (request.queues?.has(lane.queue) ?? true) && (request.handlers?.has(lane.handler) ?? true);
}
