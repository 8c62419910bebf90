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

/** A claim looks at no more lanes than this; the ring brings the others to the front next time. */
const MAX_LANES = 200;

/** Turns wants into grants: picks lanes from the ring, asks the store once per flush, learns from what came back. */
export class Claims {
  readonly #store: Pick<Store, 'taskClaim'>;
  readonly #ring: Ring;
  readonly #world: World;
  readonly #kind: Kind<Want, readonly Grant[]>;

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
    // Not awaited when there is nothing to do, so that a settle of the same turn shares its commit with this claim.
    if (this.#ring.stale) await this.#ring.refresh();
    const first = await this.#round(wants.map((want) => ({ want, max: want.max })));
    const answers = first.map(({ grants }) => grants);
    // Lanes are asked for an equal share first; what an empty one left over goes to the full ones.
    const left = wants.flatMap((want, i) => {
      const { grants, full } = first[i] as Round;
      return full && grants.length < want.max && want.op === undefined
        ? [{ want, max: want.max - grants.length, at: i }]
        : [];
    });
    if (left.length > 0) {
      // What the first round was granted is granted: a fault now must not hide it from the caller.
      const second = await this.#round(left).catch(() => []);
      for (const [i, { at }] of left.entries()) {
        answers[at] = [...(answers[at] as readonly Grant[]), ...(second[i]?.grants ?? [])];
      }
    }
    return answers;
  }

  async #round(wants: readonly { readonly want: Want; readonly max: number }[]): Promise<readonly Round[]> {
    const asked = wants.map(({ want, max }) => {
      const picks = this.#ring.pick(
        (lane) => wanted(want, lane),
        Math.min(MAX_LANES, want.op === undefined ? max : MAX_LANES),
      );
      return { want, max, picks, share: Math.ceil(max / Math.max(1, picks.length)) };
    });
    // A want with an operation id goes to the store even without a lane: its first answer may be waiting there.
    const sent = asked.filter(({ picks, want }) => picks.length > 0 || want.op !== undefined);
    const claims: ClaimRequest[] = sent.map(({ want, max, picks, share }) => ({
      holder: want.worker,
      ttlMs: want.leaseMs,
      max,
      lanes: picks.map(({ lane }) => ({ lane, max: share })),
      ...(want.op === undefined ? {} : { op: want.op }),
    }));
    const granted = claims.length === 0 ? [] : await this.#store.taskClaim({ claims });
    const rounds = new Map(
      sent.map(({ want, picks, share }, i) => [want, this.#learn(picks, share, granted[i] ?? [])]),
    );
    return asked.map(({ want }) => rounds.get(want) ?? { grants: [], full: false });
  }

  #learn(picks: readonly Pickup[], share: number, grants: readonly Grant[]): Round {
    const got = new Map<number, number>();
    for (const { lane } of grants) got.set(lane, (got.get(lane) ?? 0) + 1);
    let full = false;
    for (const pick of picks) {
      if ((got.get(pick.lane) ?? 0) < share) this.#ring.empty(pick);
      else full = true;
    }
    return { grants, full };
  }
}

interface Round {
  readonly grants: readonly Grant[];
  /** Some lane gave all that it was asked for, and may have more. */
  readonly full: boolean;
}

function wanted(want: Want, lane: Lane): boolean {
  return (want.queues?.has(lane.queue) ?? true) && (want.handlers?.has(lane.handler) ?? true);
}
