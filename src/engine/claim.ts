import type { World } from '../core/world.ts';
import type { ClaimRequest, Grant, Lane, Store } from '../store/store.ts';
import type { Coalescer, Kind } from './coalescer.ts';
import type { Pickup, Ring } from './ring.ts';

/** What a worker asks for. */
export interface Want {
  /** The worker incarnation that will hold the leases. */
  readonly worker: number;
  readonly max: number;
  readonly leaseMs: number;
  readonly queues: ReadonlySet<string> | undefined;
  readonly handlers: ReadonlySet<string> | undefined;
  readonly op: string | undefined;
}

/** One very task, asked for by its number. */
export interface TaskWant extends Pick<Want, 'worker' | 'leaseMs' | 'op'> {
  readonly task: number;
}

/** A claim looks at no more lanes than this; the ring brings the others to the front next time. */
const MAX_LANES = 200;
/** Tasks that one call of the store grants at most: more would hold the loop too long, and go into further rounds. */
const MAX_GRANTS = 250;

/** Turns wants into grants: picks lanes from the ring, asks the store once per flush, learns from what came back. */
export class Claims {
  readonly #store: Pick<Store, 'taskClaim'>;
  readonly #ring: Ring;
  readonly #world: World;
  readonly #kind: Kind<Want, readonly Grant[]>;
  readonly #taskKind: Kind<TaskWant, readonly Grant[] | undefined>;

  constructor(deps: { store: Pick<Store, 'taskClaim'>; ring: Ring; world: World; coalescer: Coalescer }) {
    this.#store = deps.store;
    this.#ring = deps.ring;
    this.#world = deps.world;
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
          claims: wants.map(({ worker, leaseMs, op, task }) => ({
            holder: worker,
            ttlMs: leaseMs,
            max: 1,
            lanes: [],
            op,
            task,
          })),
        }),
    });
  }

  /** That task, if it can be claimed now. It says nothing about lanes, so the ring neither decides nor learns. */
  async claimTask(want: TaskWant): Promise<readonly Grant[]> {
    return (await this.#taskKind.submit(want)) ?? [];
  }

  /** Answers with what there is, or waits up to `waitMs` for the first tasks to come. */
  async claim(want: Want, waitMs: number, signal?: AbortSignal): Promise<readonly Grant[]> {
    const deadline = this.#world.clock.monotonic() + waitMs;
    for (;;) {
      if (signal?.aborted) return [];
      const sign = waitMs > 0 ? this.#ring.signs.arm(signal, deadline - this.#world.clock.monotonic()) : undefined;
      try {
        const grants = await this.#kind.submit(want);
        if (grants.length > 0 || sign === undefined || this.#world.clock.monotonic() >= deadline) return grants;
        await sign.came;
      } finally {
        sign?.forget();
      }
    }
  }

  async #send(wants: readonly Want[]): Promise<readonly (readonly Grant[])[]> {
    if (this.#ring.stale || this.#ring.outdated) await this.#refresh(wants);
    const answers: (readonly Grant[])[] = wants.map(() => []);
    let open: readonly Open[] = wants.map((want, at) => ({ want, at, max: want.max }));
    // What the lanes of one round left over goes to others. Each round grants something or finds a lane empty, so it ends.
    for (let round = 0; open.length > 0; round++) {
      try {
        open = await this.#round(open, round, answers);
      } catch (error) {
        // What an earlier round was granted is granted: a fault now must not hide it from its callers.
        if (answers.every((grants) => grants.length === 0)) throw error;
        break;
      }
    }
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
    const knows = wants.every((want) => this.#ring.knows((lane) => wanted(want, lane)));
    if (outdated || !knows) await looked;
    // A store that cannot be asked says so to the claim itself.
    else looked.catch(() => {});
  }

  /** Asks lanes for an equal share each, and answers with the wants that more lanes may still fill. */
  async #round(open: readonly Open[], round: number, answers: (readonly Grant[])[]): Promise<readonly Open[]> {
    let budget = MAX_GRANTS;
    const now = open.filter((it) => {
      const fits = budget > 0;
      budget -= Math.min(it.max, MAX_GRANTS);
      return fits;
    });
    const asked = now.map((it) => {
      const max = Math.min(it.max, MAX_GRANTS);
      // As many lanes as tasks, for the sake of fairness; more of them when those turned out to be empty.
      const limit = it.want.op === undefined ? Math.min(MAX_LANES, max * 2 ** round) : MAX_LANES;
      const picks = this.#ring.pick((lane) => wanted(it.want, lane), limit);
      return { ...it, ask: max, limit, picks, share: Math.ceil(max / Math.max(1, picks.length)) };
    });
    // A want with an operation id goes to the store even without a lane: its first answer may be waiting there.
    const sent = asked.filter(({ picks, want }) => picks.length > 0 || want.op !== undefined);
    const claims: ClaimRequest[] = sent.map(({ want, ask, picks, share }) => ({
      holder: want.worker,
      ttlMs: want.leaseMs,
      max: ask,
      lanes: picks.map(({ lane }) => ({ lane, max: share })),
      op: want.op,
    }));
    const granted = claims.length === 0 ? [] : await this.#store.taskClaim({ claims });
    const unfilled = sent.flatMap(({ want, at, max, ask, limit, picks, share }, i) => {
      const grants = granted[i];
      if (grants === undefined) return []; // nobody looked, so there is nothing to learn
      answers[at] = [...(answers[at] as readonly Grant[]), ...grants];
      // Grants of an earlier call say nothing about the lanes of this one.
      if (want.op !== undefined && grants.length > 0) return [];
      const more = this.#learn(picks, share, ask, grants) || picks.length === limit;
      return more && grants.length < max ? [{ want, at, max: max - grants.length }] : [];
    });
    return [...unfilled, ...open.slice(now.length)];
  }

  /** Takes lanes out of the ring that were found empty. Answers whether some lane may have more. */
  #learn(picks: readonly Pickup[], share: number, max: number, grants: readonly Grant[]): boolean {
    const got = new Map<number, number>();
    for (const { lane } of grants) got.set(lane, (got.get(lane) ?? 0) + 1);
    let left = max;
    let more = false;
    for (const pick of picks) {
      // The last lanes are asked for what is left, which may be less than their share, or nothing.
      const wish = Math.min(share, left);
      const count = got.get(pick.lane) ?? 0;
      if (count < wish) this.#ring.empty(pick);
      else more = true;
      if (wish === share) this.#ring.last(pick);
      left -= count;
    }
    return more;
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
