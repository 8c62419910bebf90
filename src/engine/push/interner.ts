import { type LaneKey, laneText } from '../../core/placement/lane.ts';
import type { Lane, LaneName, Store } from '../../store/store.ts';
import { readSpec } from './spec.ts';

/** What distinguishes a lane from others of its queue and handler. */
export type Rules = Omit<LaneKey, 'queue' | 'handler'>;

/** A lane by queue and handler, and by what distinguishes it from others of these. */
export interface NamedLane extends LaneName {
  readonly rules?: Rules | undefined;
}

const MAX_RULED = 100_000;

/** Lanes and specs have few distinct values. Each is stored once, in a transaction of its own, and then known by its number. */
export class Interner {
  readonly #store: Pick<Store, 'laneIntern' | 'specIntern' | 'specGet'>;
  readonly #onLane: (lane: Lane) => void;
  /** Queue → handler → lane. */
  readonly #lanes = new Map<string, Map<string, number>>();
  /** Lanes with rules, by their text. */
  readonly #ruled = new Map<string, number>();
  readonly #specs = new Map<string, number>();
  readonly #bodies = new Map<number, string>();
  readonly #timeouts = new Map<number, number | undefined>();

  constructor(store: Pick<Store, 'laneIntern' | 'specIntern' | 'specGet'>, onLane: (lane: Lane) => void) {
    this.#store = store;
    this.#onLane = onLane;
  }

  /** The number, if it is known already, so that the hot path stays synchronous. */
  knownLane({ queue, handler, rules }: NamedLane): number | undefined {
    if (rules === undefined) return this.#lanes.get(queue)?.get(handler);
    return this.#ruled.get(laneText({ queue, handler, ...rules }));
  }

  async lane(name: NamedLane): Promise<number> {
    const known = this.knownLane(name);
    if (known !== undefined) return known;
    const { queue, handler, rules } = name;
    const [lane] = (await this.#store.laneIntern({ lanes: [{ queue, handler, ...rules }] })) as [Lane];
    if (rules === undefined) {
      const handlers = this.#lanes.get(queue) ?? new Map<string, number>();
      this.#lanes.set(queue, handlers.set(handler, lane.id));
    } else {
      // Keys of limits may be any text, so the number of these lanes has no bound.
      if (this.#ruled.size >= MAX_RULED) this.#ruled.clear();
      this.#ruled.set(laneText({ queue, handler, ...rules }), lane.id);
    }
    this.#onLane(lane);
    return lane.id;
  }

  knownSpec(body: string): number | undefined {
    return this.#specs.get(body);
  }

  async spec(body: string): Promise<number> {
    const known = this.knownSpec(body);
    if (known !== undefined) return known;
    const [id] = (await this.#store.specIntern({ specs: [body] })) as [number];
    this.#specs.set(body, id);
    this.#bodies.set(id, body);
    return id;
  }

  async specBody(id: number): Promise<string | undefined> {
    const known = this.#bodies.get(id);
    if (known !== undefined) return known;
    const body = await this.#store.specGet({ spec: id });
    if (body !== undefined) this.#bodies.set(id, body);
    return body;
  }

  /** How long an attempt under this spec may run; read once. */
  async timeout(spec: number): Promise<number | undefined> {
    if (!this.#timeouts.has(spec)) this.#timeouts.set(spec, readSpec(await this.specBody(spec)).timeoutMs);
    return this.#timeouts.get(spec);
  }
}
